const MEBIBYTE = 1024 * 1024;

/**
 * The largest message, in bytes, of a server that connects and lists its tools, and of one that answers a call: many
 * may list at once, and each message is in memory as a whole.
 */
const MAX_MESSAGE = { listing: 4 * MEBIBYTE, calling: 16 * MEBIBYTE } as const;
/** What a server may say in all, in bytes, from one question to the next. */
const MAX_UNASKED = 256 * MEBIBYTE;

/** A server said more than anyone should read. */
export class SaidTooMuch extends Error {
  override readonly name = 'SaidTooMuch';
}

/** Counts what one server says: whoever floods us loses the connection, and not we the time. */
export class Allowance {
  #left = MAX_UNASKED;
  #message: number = MAX_MESSAGE.listing;

  /** Something is asked of it. */
  renew(purpose: keyof typeof MAX_MESSAGE): void {
    this.#left = MAX_UNASKED;
    this.#message = MAX_MESSAGE[purpose];
  }

  /**
   * @param bytes that have come
   * @param message how many of the message that is under way have come so far
   * @throws SaidTooMuch
   */
  take(bytes: number, message: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new SaidTooMuch('It said more than 256 MiB to one question.');
    if (message <= this.#message) return;
    throw new SaidTooMuch(`It sent a message of more than ${this.#message / MEBIBYTE} MiB.`);
  }
}

const MEBIBYTE = 1024 * 1024;

/**
 * The largest message, in bytes, of a server that connects and lists its tools, and of one that answers a call: many
 * may list at once, and each message is in memory as a whole.
 */
const MAX_MESSAGE = { listing: 4 * MEBIBYTE, calling: 16 * MEBIBYTE } as const;
/** What a server may say in all, in bytes, from one question to the next. */
const MAX_UNASKED = 256 * MEBIBYTE;
/** In how many lines: a message is at least one, and costs time however short it is. */
const MAX_LINES = 20_000;
/** How often it may be written to meanwhile: it may ask, too, and each answer is a request of ours. */
const MAX_REQUESTS = 500;

/** A server said more than anyone should read. */
export class SaidTooMuch extends Error {
  override readonly name = 'SaidTooMuch';
}

/** Counts what one server says: whoever floods us loses the connection, and not we the time. */
export class Allowance {
  #left = MAX_UNASKED;
  #lines = MAX_LINES;
  #requests = MAX_REQUESTS;
  #message: number = MAX_MESSAGE.listing;

  /** Something is asked of it. */
  renew(purpose: keyof typeof MAX_MESSAGE): void {
    this.#left = MAX_UNASKED;
    this.#lines = MAX_LINES;
    this.#requests = MAX_REQUESTS;
    this.#message = MAX_MESSAGE[purpose];
  }

  /**
   * @param bytes that have come
   * @param message how many of the message that is under way have come so far
   * @param lines that have ended in them, where messages stand in lines
   * @throws SaidTooMuch
   */
  take(bytes: number, message: number, lines: number): void {
    this.#left -= bytes;
    this.#lines -= lines;
    if (this.#left < 0) throw new SaidTooMuch('It said more than 256 MiB to one question.');
    if (this.#lines < 0) {
      throw new SaidTooMuch(`It said more than ${MAX_LINES.toLocaleString('en')} lines to one question.`);
    }
    if (message <= this.#message) return;
    throw new SaidTooMuch(`It sent a message of more than ${this.#message / MEBIBYTE} MiB.`);
  }

  /** A request is to be made of it. @throws SaidTooMuch when it has asked for too many */
  ask(): void {
    this.#requests -= 1;
    if (this.#requests >= 0) return;
    throw new SaidTooMuch(`It asked more than ${MAX_REQUESTS} questions of its own.`);
  }
}

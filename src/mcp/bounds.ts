/** The largest message of a server, in bytes: what is larger ends the connection. */
const MAX_MESSAGE = 32 * 1024 * 1024;
/** What a server may say in all, in bytes, between one request to it and the next. */
const MAX_UNASKED = 256 * 1024 * 1024;

/** A server said more than anyone should read. */
export class SaidTooMuch extends Error {
  override readonly name = 'SaidTooMuch';
}

/** Counts what one server says: whoever floods us loses the connection, and not we the time. */
export class Allowance {
  #left = MAX_UNASKED;

  /** Something is asked of it. */
  renew(): void {
    this.#left = MAX_UNASKED;
  }

  /** @throws SaidTooMuch */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new SaidTooMuch('It said more than 256 MiB to one question.');
  }
}

/** @param bytes of the message that is under way @throws SaidTooMuch */
export function withinMessage(bytes: number): void {
  if (bytes > MAX_MESSAGE) throw new SaidTooMuch('It sent a message of more than 32 MiB.');
}

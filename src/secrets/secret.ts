import { inspect } from 'node:util';

/** What stands wherever a secret value would have been shown. V0 clients know this text. */
export const HIDDEN = '<secret_hidden>';

/**
 * A value that must not be seen. It prints, serialises and logs as {@link HIDDEN}; `unwrap()` is called only
 * where the value is used: to seal it, to compare it, or to send it to the destination it was stored for.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  unwrap(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/**
 * A signal that aborts with the given one, or when `ms` milliseconds are over; to be disposed of when there is an answer.
 * `AbortSignal.timeout` keeps its timer, and all that waits for it, until the time is over, however soon the answer came.
 */
export class TimeLimit implements Disposable {
  readonly #given: AbortSignal;
  readonly #either = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(given: AbortSignal, ms: number) {
    this.#given = given;
    this.#timer = setTimeout(this.#end, ms);
    if (given.aborted) this.#follow();
    else given.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#either.signal;
  }

  /** Whether it was the time that ended it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#given.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => this.#either.abort(this.#given.reason);

  readonly #end = (): void => {
    this.#isOver = true;
    this.#either.abort(new DOMException('The time is over', 'TimeoutError'));
  };
}

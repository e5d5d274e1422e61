const INTERVAL_MS = 1000;
const LONGEST_SILENCE_MS = 2000;

/** While something is awaited: asks once a second whether the other side lives, and says when it has gone silent. */
export class Heartbeat {
  readonly #ask: () => void;
  readonly #onSilence: () => void;
  #awaiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #askedAt: number | null = null;
  #answer = Promise.withResolvers<void>();

  constructor(ask: () => void, onSilence: () => void) {
    this.#ask = ask;
    this.#onSilence = onSilence;
  }

  begin(): void {
    this.#awaiting += 1;
    if (this.#awaiting > 1) return;
    this.#send();
    this.#timer = setInterval(() => this.#beat(), INTERVAL_MS);
  }

  end(): void {
    this.#awaiting -= 1;
    if (this.#awaiting === 0) this.stop();
  }

  heard(): void {
    this.#askedAt = null;
    this.#answer.resolve();
  }

  /** Asks now, and resolves at the next answer. */
  async answer(): Promise<void> {
    this.#answer = Promise.withResolvers();
    const { promise } = this.#answer;
    this.#ask();
    await promise;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#askedAt = null;
  }

  #send(): void {
    this.#askedAt = performance.now();
    this.#ask();
  }

  #beat(): void {
    const askedAt = this.#askedAt;
    if (askedAt === null) return this.#send();
    if (performance.now() - askedAt < LONGEST_SILENCE_MS) return;
    // When it was our own event loop that hung, the answer lies unread: look once before believing in silence.
    setImmediate(() => {
      if (this.#askedAt === askedAt) this.#onSilence();
    });
  }
}

export type StopCause = 'timed_out' | 'interrupted';
export type SignalName = 'INT' | 'TERM' | 'KILL';

interface Steps {
  /** Milliseconds from INT, the first signal, to TERM. */
  term: number;
  /** From TERM to KILL. */
  kill: number;
  /** From KILL until it counts as unstoppable. */
  giveUp: number;
}

// At its time-out a command may take a moment to clean up; someone who stops a run waits a third of a second. What is
// left then is on its way out: to give it up is to lose the sandbox, and a busy machine takes a moment to end it.
const STEPS: Record<StopCause, Steps> = {
  timed_out: { term: 700, kill: 800, giveUp: 1500 },
  interrupted: { term: 150, kill: 200, giveUp: 1150 },
};

/**
 * When one command must end, and how hard it is told so: INT, TERM, KILL; then it counts as unstoppable. The time for
 * each begins when the one before was sent: were our own event loop held up, they would otherwise all come at once.
 */
export class Ladder {
  readonly #signal: AbortSignal;
  readonly #send: (name: SignalName) => void;
  readonly #interrupt = (): void => this.#climb('interrupted');
  readonly #begun = Promise.withResolvers<'stopped'>();
  readonly #exhausted = Promise.withResolvers<'unstoppable'>();
  #cause: StopCause | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: AbortSignal, send: (name: SignalName) => void) {
    this.#signal = signal;
    this.#send = send;
    signal.addEventListener('abort', this.#interrupt, { once: true });
    if (signal.aborted) this.#interrupt();
  }

  /** The command begins: its time runs from now on. */
  begin(timeoutMs: number): void {
    if (this.#cause === null) this.#after(timeoutMs, () => this.#climb('timed_out'));
  }

  /** Null while nothing has told the command to end. */
  get cause(): StopCause | null {
    return this.#cause;
  }

  /** Resolves at the first step. */
  get begun(): Promise<'stopped'> {
    return this.#begun.promise;
  }

  /** Resolves when the command has outlived KILL. */
  get exhausted(): Promise<'unstoppable'> {
    return this.#exhausted.promise;
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#interrupt);
  }

  #climb(cause: StopCause): void {
    this.#cause = cause;
    this.#begun.resolve('stopped');
    const { term, kill, giveUp } = STEPS[cause];
    this.#send('INT');
    this.#after(term, () => {
      this.#send('TERM');
      this.#after(kill, () => {
        this.#send('KILL');
        this.#after(giveUp, () => this.#exhausted.resolve('unstoppable'));
      });
    });
  }

  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    // A longer delay would overflow and fire at once.
    this.#timer = setTimeout(act, Math.min(ms, 2 ** 31 - 1));
  }
}

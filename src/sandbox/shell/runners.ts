import { lastWords } from './last-words.ts';
import type { ExchangeDirectory } from './run-directory.ts';
import { Runner } from './runner.ts';

// Each holds a descriptor of ours. Whoever leaves more in the background loses the oldest to SIGPIPE.
const MOST_LEFT_OPEN = 128;
const LONGEST_PREPARATION_MS = 10_000;
const MOST_TRIES = 3;
const NO_PROCESS = 'no new process could be started in it';

/** All runners of one shell: the spare one, those with a command, and those whose background jobs may still write. */
export class Runners {
  readonly #exchange: ExchangeDirectory;
  readonly #send: (line: string) => void;
  readonly #onBroken: (reason: string) => void;
  readonly #all = new Map<number, Runner>();
  readonly #leftOpen = new Set<Runner>();
  #spare: Runner | null = null;
  #lastNumber = 0;
  #closed = false;

  constructor(exchange: ExchangeDirectory, send: (line: string) => void, onBroken: (reason: string) => void) {
    this.#exchange = exchange;
    this.#send = send;
    this.#onBroken = onBroken;
  }

  /** Makes one ahead, unless there is one. Not while a command runs: a fork bomb would hold the supervisor in fork. */
  prepareSpare(): void {
    if (!this.#closed) this.#spare ??= this.#prepare();
  }

  /** A warm runner, for a command or a program beside the shell; null when the shell is gone. */
  async take(what: 'command' | 'program' = 'command'): Promise<Runner | null> {
    // Left-over processes that take every place would otherwise let each command wait to its time-out.
    const timer = setTimeout(() => this.#onBroken(NO_PROCESS), LONGEST_PREPARATION_MS);
    try {
      for (let tries = 0; tries < MOST_TRIES && !this.#closed; tries += 1) {
        const runner = what === 'program' ? this.#prepare(what) : (this.#spare ?? this.#prepare());
        if (what === 'command') this.#spare = null;
        if ((await runner.warm) && !runner.over) return runner;
        void runner.abandon();
      }
      if (!this.#closed) this.#onBroken(NO_PROCESS);
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  /** It is done with its command, or gets none; what its background jobs write goes nowhere. */
  release(runner: Runner): void {
    if (!runner.over) return void runner.abandon();
    if (runner.pid !== null) this.#send(`end ${runner.pid}`);
    this.#leftOpen.add(runner);
    const [oldest] = this.#leftOpen;
    if (oldest && this.#leftOpen.size > MOST_LEFT_OPEN) void oldest.abandon();
  }

  /** The supervisor says that runner `number` has its FIFOs. */
  made(number: number): void {
    const runner = this.#all.get(number);
    runner?.opened().catch(() => this.#onBroken('its shell was tampered with'));
  }

  warmed(number: number, pid: number): void {
    void this.#all.get(number)?.warmed(pid);
  }

  /** For when every process is gone: gives what is still in the pipes a moment to be read, then closes all files. */
  async close(): Promise<void> {
    this.#closed = true;
    const speaking = [...this.#all.values()].filter((runner) => runner.speaks);
    await lastWords(speaking.map((runner) => runner.drained));
    await Promise.all([...this.#all.values()].map((runner) => runner.abandon()));
  }

  #prepare(what: 'command' | 'program' = 'command'): Runner {
    this.#lastNumber += 1;
    const runner = new Runner(this.#lastNumber, this.#exchange, what === 'program');
    this.#all.set(runner.number, runner);
    void this.#forgetOnceDrained(runner);
    this.#send(`${what === 'program' ? 'prog' : 'warm'} ${runner.number} ${runner.nonce}`);
    return runner;
  }

  async #forgetOnceDrained(runner: Runner): Promise<void> {
    await runner.drained;
    this.#all.delete(runner.number);
    this.#leftOpen.delete(runner);
  }
}

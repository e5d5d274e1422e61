/** How long one call of a model may take. Milliseconds. */
export interface Deadlines {
  /** Without any sign of the model. Models that think may be silent for minutes. */
  idle: number;
  total: number;
}

const IDLE_MS = 300_000;
export const DEADLINES: Deadlines = deadlinesOf(1_800_000);

/** The deadlines of calls that may take `total` milliseconds. */
export function deadlinesOf(total: number): Deadlines {
  return { idle: Math.min(IDLE_MS, total), total };
}

/** Aborts `signal` when the whole takes too long, or when nobody calls `sign()` for too long. */
export class Deadline implements Disposable {
  readonly #expired = new AbortController();
  readonly #idle: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout;

  constructor({ idle, total }: Deadlines) {
    this.#idle = setTimeout(() => this.#expired.abort(), idle);
    this.#total = setTimeout(() => this.#expired.abort(), total);
  }

  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  sign(): void {
    this.#idle.refresh();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
  }
}

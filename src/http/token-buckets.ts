/** Counts what each of many may do: `burst` at once, and `perSecond` on the long run. Bounded in memory. */
export class TokenBuckets {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #max: number;
  readonly #now: () => number;
  /** In order of last use. */
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(options: { perSecond: number; burst: number; max?: number; now?: () => number }) {
    this.#perSecond = options.perSecond;
    this.#burst = options.burst;
    this.#max = options.max ?? 10_000;
    this.#now = options.now ?? (() => performance.now() / 1000);
  }

  /** Takes one; 0 when it was there, else the seconds until it will be. */
  take(id: string): number {
    const now = this.#now();
    const known = this.#buckets.get(id);
    const tokens = known
      ? Math.min(this.#burst, known.tokens + (now - known.at) * this.#perSecond)
      : this.#burst;
    const allowed = tokens >= 1;
    // Put in again, so that the one not used for the longest time stands first.
    this.#buckets.delete(id);
    this.#buckets.set(id, { tokens: allowed ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > this.#max) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return allowed ? 0 : (1 - tokens) / this.#perSecond;
  }

  /** Gives one back. */
  restore(id: string): void {
    const bucket = this.#buckets.get(id);
    if (bucket) bucket.tokens = Math.min(this.#burst, bucket.tokens + 1);
  }
}

import type { Listed } from './listing.ts';

interface Kept<T> {
  userId: string;
  /** What the user's tokens were when it was asked for. */
  tokens: string;
  until: number;
  listed: Listed<T>;
  size: number;
}

/**
 * Lists that users were given a short while ago. A user whose tokens have changed since finds none of them; all of
 * them together hold a bounded number of characters, whatever a provider put into them, and the oldest give way.
 */
export class KeptLists<T> {
  readonly #keptMs: number;
  readonly #most: number;
  readonly #now: () => number;
  /** In the order in which they run out: all are kept for the same time. */
  readonly #lists = new Map<string, Kept<T>>();
  #size = 0;

  /** @param most characters of all lists, as JSON */
  constructor({ keptMs, most, now }: { keptMs: number; most: number; now?: () => number }) {
    this.#keptMs = keptMs;
    this.#most = most;
    this.#now = now ?? (() => performance.now());
  }

  /** @param tokens stands for the user's tokens: another text, other tokens */
  get(userId: string, tokens: string, question: string): Listed<T> | undefined {
    this.#dropOld();
    const kept = this.#lists.get(keyOf(userId, question));
    if (!kept || kept.tokens === tokens) return kept?.listed;
    for (const [key, one] of this.#lists) if (one.userId === userId) this.#drop(key);
    return undefined;
  }

  keep(userId: string, tokens: string, question: string, listed: Listed<T>): void {
    const key = keyOf(userId, question);
    this.#drop(key);
    const size = key.length + JSON.stringify(listed).length;
    if (size > this.#most) return;
    this.#lists.set(key, { userId, tokens, until: this.#now() + this.#keptMs, listed, size });
    this.#size += size;
    this.#dropOld();
  }

  #dropOld(): void {
    const now = this.#now();
    for (const [key, { until }] of this.#lists) {
      if (until > now && this.#size <= this.#most) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    const kept = this.#lists.get(key);
    if (!kept) return;
    this.#lists.delete(key);
    this.#size -= kept.size;
  }
}

function keyOf(userId: string, question: string): string {
  return JSON.stringify([userId, question]);
}

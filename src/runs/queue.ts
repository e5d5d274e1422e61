/** Says "drive this conversation". A hint: the row is the truth, and a hint too many finds nothing to do. */
export interface Hint {
  key: number;
  userId: string;
}

export interface RunQueue {
  offer(hint: Hint): void;
  /** Takes it out of the line; what is handed out already is not concerned. */
  withdraw(key: number): void;
  /** Hands out nothing more; resolves when all that was handed out is done. */
  close(): Promise<void>;
}

/** How many conversations are driven at once: of one user, and in all. */
export interface RunLimits {
  perUser: number;
  total: number;
}

/**
 * The queue of a single process. Within one user first come first served; between users in turn, so that nobody
 * waits for another's backlog. A hint for a conversation that is being driven is handed out again afterwards.
 */
export class InProcessQueue implements RunQueue {
  readonly #drive: (key: number) => Promise<void>;
  readonly #limits: RunLimits;
  readonly #waits: (key: number) => void;
  /** Users in the order of their turn, each with the keys that wait, oldest first. */
  readonly #waiting = new Map<string, Set<number>>();
  readonly #running = new Map<number, { userId: string; again: boolean; done: Promise<void> }>();
  readonly #runningOf = new Map<string, number>();
  #closed = false;

  /**
   * @param drive never rejects
   * @param waits told of each that gets into the line and is not handed out at once
   */
  constructor(
    drive: (key: number) => Promise<void>,
    limits: RunLimits,
    waits: (key: number) => void = () => {},
  ) {
    this.#drive = drive;
    this.#limits = limits;
    this.#waits = waits;
  }

  offer({ key, userId }: Hint): void {
    if (this.#closed) return;
    const running = this.#running.get(key);
    if (running) {
      running.again = true;
      return;
    }
    const keys = this.#waiting.get(userId) ?? new Set();
    if (keys.has(key)) return;
    this.#waiting.set(userId, keys.add(key));
    this.#handOut();
    if (keys.has(key)) this.#waits(key);
  }

  withdraw(key: number): void {
    for (const [userId, keys] of this.#waiting) {
      if (!keys.delete(key)) continue;
      if (keys.size === 0) this.#waiting.delete(userId);
      return;
    }
  }

  /** How many wait for their turn. */
  get waiting(): number {
    let waiting = 0;
    for (const keys of this.#waiting.values()) waiting += keys.size;
    return waiting;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #handOut(): void {
    for (const [userId, keys] of this.#waiting) {
      if (this.#running.size >= this.#limits.total) return;
      if ((this.#runningOf.get(userId) ?? 0) >= this.#limits.perUser) continue;
      const [key] = keys;
      if (key === undefined) continue;
      keys.delete(key);
      // To the end of the line of users: the next place is another's.
      this.#waiting.delete(userId);
      if (keys.size > 0) this.#waiting.set(userId, keys);
      this.#start(key, userId);
    }
  }

  #start(key: number, userId: string): void {
    const running = { userId, again: false, done: Promise.resolve() };
    this.#running.set(key, running);
    this.#runningOf.set(userId, (this.#runningOf.get(userId) ?? 0) + 1);
    running.done = this.#driveOne(key, userId, running);
  }

  async #driveOne(key: number, userId: string, running: { again: boolean }): Promise<void> {
    await this.#drive(key);
    this.#running.delete(key);
    const left = (this.#runningOf.get(userId) ?? 1) - 1;
    if (left === 0) this.#runningOf.delete(userId);
    else this.#runningOf.set(userId, left);
    if (running.again) this.offer({ key, userId });
    this.#handOut();
  }
}

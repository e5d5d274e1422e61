import { ServiceError } from '../errors.ts';

/** Bounds what each of many has under way at once. */
export class AtOnce {
  readonly #most: number;
  readonly #running = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws ServiceError rate_limited when as much is under way as may be */
  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(id) ?? 0;
    if (running >= this.#most) {
      throw new ServiceError(
        'rate_limited',
        `${this.#most} requests to git providers are under way: wait until one of them is answered.`,
        { retryAfter: 1 },
      );
    }
    this.#running.set(id, running + 1);
    try {
      return await work();
    } finally {
      const left = (this.#running.get(id) ?? 1) - 1;
      if (left > 0) this.#running.set(id, left);
      else this.#running.delete(id);
    }
  }
}

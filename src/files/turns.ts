/** Gives each user a few places at a time; who finds none waits, first come first served. */
export class Turns {
  readonly #places: number;
  readonly #users = new Map<string, { taken: number; waiting: Set<() => void> }>();

  constructor(places: number) {
    this.#places = places;
  }

  /** Resolves when there is a place, with what gives it back; that may be called twice. @throws the signal's reason */
  async take(userId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const user = this.#users.get(userId) ?? { taken: 0, waiting: new Set() };
    this.#users.set(userId, user);
    if (user.taken >= this.#places) await this.#wait(user.waiting, signal);
    else user.taken += 1;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = user.waiting;
      // The place goes from hand to hand.
      if (next) next();
      else user.taken -= 1;
      if (user.taken === 0) this.#users.delete(userId);
    };
  }

  async #wait(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        waiting.delete(go);
        reject(signal.reason);
      };
      const go = (): void => {
        waiting.delete(go);
        signal.removeEventListener('abort', abort);
        resolve();
      };
      waiting.add(go);
      signal.addEventListener('abort', abort, { once: true });
    });
  }
}

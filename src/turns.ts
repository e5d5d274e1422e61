/** Gives each name (a user's, say) a few places at a time; who finds none waits, first come first served. */
export class Turns {
  readonly #places: number;
  readonly #named = new Map<string, { taken: number; waiting: Set<() => void> }>();

  constructor(places: number) {
    this.#places = places;
  }

  /** Resolves when there is a place, with what gives it back; that may be called twice. @throws the signal's reason */
  async take(name: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const held = this.#named.get(name) ?? { taken: 0, waiting: new Set() };
    this.#named.set(name, held);
    if (held.taken >= this.#places) await this.#wait(held.waiting, signal);
    else held.taken += 1;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = held.waiting;
      // The place goes from hand to hand.
      if (next) next();
      else held.taken -= 1;
      if (held.taken === 0) this.#named.delete(name);
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

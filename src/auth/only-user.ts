import type { Principal } from './principal.ts';
import { DEFAULT_USER, type KeyStore } from './store.ts';

/** Knows whether the user `default` is the only one: then the machine is one person's, and so is its network. */
export class OnlyUser {
  readonly #keys: KeyStore;
  #alone = false;
  /** How often somebody else came in. */
  #others = 0;

  constructor(keys: KeyStore) {
    this.#keys = keys;
  }

  /** As of the last look, or since another user came in; false before the first look. */
  get alone(): boolean {
    return this.#alone;
  }

  /** Other processes make users too, and remove them: look every now and then. */
  async look(): Promise<void> {
    const others = this.#others;
    const users = await this.#keys.listUsers();
    // A list from before somebody came in does not know them.
    this.#alone = users.every(({ name }) => name === DEFAULT_USER) && this.#others === others;
  }

  /** Another user may be younger than the last look. */
  saw({ userName }: Pick<Principal, 'userName'>): void {
    if (userName === DEFAULT_USER) return;
    this.#others += 1;
    this.#alone = false;
  }
}

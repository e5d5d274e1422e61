import { DEFAULT_USER, type KeyStore } from './store.ts';

/** Knows whether the user `default` is the only one: then the machine is one person's, and so is its network. */
export class OnlyUser {
  readonly #keys: KeyStore;
  #alone = false;

  constructor(keys: KeyStore) {
    this.#keys = keys;
  }

  /** As of the last look; false before the first. */
  get alone(): boolean {
    return this.#alone;
  }

  /** Other processes make users too: look every now and then. */
  async look(): Promise<void> {
    const users = await this.#keys.listUsers();
    this.#alone = users.every(({ name }) => name === DEFAULT_USER);
  }
}

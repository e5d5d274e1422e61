import { type MemberError, ServiceError } from '../errors.ts';
import type { Secret } from '../secrets/secret.ts';
import type { UserSeals } from './seals.ts';
import type { BoundSecret } from './store.ts';

type BoundSecrets = Readonly<Record<string, BoundSecret>>;

/** What a request says of a secret: null or undefined keeps it, an empty one clears it. */
export type GivenSecret = Secret | null | undefined;

/** The secrets of one user while a request is merged into them: what a request does not touch is neither opened nor sealed. */
export class SecretDraft {
  readonly #seals: UserSeals;
  readonly #stored: BoundSecrets;
  readonly #next: Map<string, BoundSecret>;
  readonly #refused: MemberError[] = [];

  constructor(stored: BoundSecrets, seals: UserSeals) {
    this.#stored = stored;
    this.#seals = seals;
    this.#next = new Map(Object.entries(stored));
  }

  /**
   * Merges one secret by the rule of all: keep, clear or set.
   * @param destination where it goes from now on; "" while that is nowhere
   * @param loc where the secret stands in the body, for a refusal
   * @returns whether there is a secret afterwards
   */
  merge(path: string, given: GivenSecret, destination: string, loc: MemberError['loc']): boolean {
    if (given) {
      if (given.unwrap() === '') {
        this.remove(path);
        return false;
      }
      this.#next.set(path, this.#seals.seal(path, given, destination));
      return true;
    }
    const stored = Object.hasOwn(this.#stored, path) ? this.#stored[path] : undefined;
    if (!stored) return false;
    this.#next.set(path, this.#keep(path, stored, destination, loc));
    return true;
  }

  /** Moves a secret that goes to the same destination under another name. */
  rename(from: string, to: string): void {
    const stored = this.#next.get(from);
    if (!stored) return;
    this.#next.delete(from);
    this.#next.set(to, this.#seals.seal(to, this.#seals.open(from, stored), stored.destination));
  }

  remove(path: string): void {
    this.#next.delete(path);
  }

  /** Removes all whose path begins so. */
  removeAll(prefix: string): void {
    for (const path of this.#next.keys()) if (path.startsWith(prefix)) this.#next.delete(path);
  }

  /** @throws ServiceError secret_destination_changed, naming every secret that would have gone elsewhere */
  finish(): Record<string, BoundSecret> {
    if (this.#refused.length === 0) return Object.fromEntries(this.#next);
    const names = this.#refused.map(({ loc }) => loc.slice(1).join('.')).join(', ');
    throw new ServiceError(
      'secret_destination_changed',
      `A stored secret never goes to another destination: send ${names} again with this change, or clear it with "".`,
      { errors: this.#refused },
    );
  }

  #keep(path: string, stored: BoundSecret, destination: string, loc: MemberError['loc']): BoundSecret {
    if (destination === '' || stored.destination === destination) return stored;
    if (stored.destination === '') {
      return this.#seals.seal(path, this.#seals.open(path, stored), destination);
    }
    this.#refused.push({
      loc,
      msg: 'is stored for another destination: send it again, or clear it with ""',
      type: 'secret_destination_changed',
    });
    return stored;
  }
}

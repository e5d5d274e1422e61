import { type MemberError, ServiceError } from '../errors.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { BoundSecret } from './store.ts';

type BoundSecrets = Readonly<Record<string, BoundSecret>>;

/** What a request says of a secret: null or undefined keeps it, an empty one clears it. */
export type GivenSecret = Secret | null | undefined;

/** Seals and opens the secrets of one user, each for its path and destination. */
export class SecretSeal {
  readonly #vault: Vault;
  readonly #userId: string;

  constructor(vault: Vault, userId: string) {
    this.#vault = vault;
    this.#userId = userId;
  }

  seal(path: string, secret: Secret, destination: string): BoundSecret {
    return { sealed: this.#vault.seal(secret, ['settings', this.#userId, path, destination]), destination };
  }

  open(path: string, { sealed, destination }: BoundSecret): Secret {
    return this.#vault.open(sealed, ['settings', this.#userId, path, destination]);
  }
}

/** The secrets of one user while a request is merged into them: what a request does not touch is neither opened nor sealed. */
export class SecretDraft {
  readonly #seal: SecretSeal;
  readonly #stored: BoundSecrets;
  readonly #next: Map<string, BoundSecret>;
  readonly #refused: MemberError[] = [];

  constructor(stored: BoundSecrets, seal: SecretSeal) {
    this.#stored = stored;
    this.#seal = seal;
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
      this.#next.set(path, this.#seal.seal(path, given, destination));
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
    this.#next.set(to, this.#seal.seal(to, this.#seal.open(from, stored), stored.destination));
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
      return this.#seal.seal(path, this.#seal.open(path, stored), destination);
    }
    this.#refused.push({
      loc,
      msg: 'is stored for another destination: send it again, or clear it with ""',
      type: 'secret_destination_changed',
    });
    return stored;
  }
}

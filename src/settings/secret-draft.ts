import { type MemberError, ServiceError } from '../errors.ts';
import type { Secret } from '../secrets/secret.ts';
import type { UserSeals } from './seals.ts';
import type { BoundSecret } from './store.ts';

type BoundSecrets = Readonly<Record<string, BoundSecret>>;

const NONE: ReadonlySet<string> = new Set();

/** What a request says of a secret: null or undefined keeps it, an empty one clears it. */
export type GivenSecret = Secret | null | undefined;

/** The secrets of one user while a request is merged into them: what a request does not touch is neither opened nor sealed. */
export class SecretDraft {
  readonly #seals: UserSeals;
  readonly #stored: BoundSecrets;
  /** What was changed so far, null for what was removed; nothing as long as a request only keeps. */
  readonly #changed = new Map<string, BoundSecret | null>();
  readonly #refused: MemberError[] = [];

  constructor(stored: BoundSecrets, seals: UserSeals) {
    this.#stored = stored;
    this.#seals = seals;
  }

  /**
   * Merges one secret by the rule of all: keep, clear or set.
   * @param destination where it goes from now on; "" while that is nowhere
   * @param loc where the secret stands in the body, for a refusal
   * @returns whether there is a secret afterwards
   */
  merge(path: string, given: GivenSecret, destination: string, loc: MemberError['loc']): boolean {
    if (given?.unwrap() === '') {
      this.remove(path);
      return false;
    }
    const stored = this.#stored[path];
    const next = given
      ? this.#seals.seal(path, given, destination)
      : stored && this.#keep(path, stored, destination, loc);
    if (!next) return false;
    if (isSame(stored, next)) this.#changed.delete(path);
    else this.#changed.set(path, next);
    return true;
  }

  /** Moves a secret that goes to the same destination under another name. */
  rename(from: string, to: string): void {
    const stored = this.#changed.get(from) ?? this.#stored[from];
    if (!stored) return;
    this.remove(from);
    this.#changed.set(to, this.#seals.seal(to, this.#seals.open(from, stored), stored.destination));
  }

  remove(path: string): void {
    if (this.#stored[path]) this.#changed.set(path, null);
    else this.#changed.delete(path);
  }

  /** Removes all whose path begins so, but for some. */
  removeAll(prefix: string, kept: ReadonlySet<string> = NONE): void {
    const goes = (path: string): boolean => path.startsWith(prefix) && !kept.has(path);
    for (const path of this.#changed.keys()) if (goes(path)) this.remove(path);
    for (const path in this.#stored) if (goes(path)) this.#changed.set(path, null);
  }

  /**
   * The secrets afterwards: the very ones that were stored when none was changed.
   * @throws ServiceError secret_destination_changed, naming every secret that would have gone elsewhere
   */
  finish(): BoundSecrets {
    if (this.#refused.length === 0) return this.#changed.size === 0 ? this.#stored : this.#merged();
    const names = this.#refused.map(({ loc }) => loc.slice(1).join('.')).join(', ');
    throw new ServiceError(
      'secret_destination_changed',
      `A stored secret never goes to another destination: send ${names} again with this change, or clear it with "".`,
      { errors: this.#refused },
    );
  }

  #merged(): BoundSecrets {
    const next = new Map(Object.entries(this.#stored));
    for (const [path, secret] of this.#changed) {
      if (secret) next.set(path, secret);
      else next.delete(path);
    }
    return Object.fromEntries(next);
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

function isSame(one: BoundSecret | undefined, other: BoundSecret): boolean {
  return one?.sealed === other.sealed && one.destination === other.destination;
}

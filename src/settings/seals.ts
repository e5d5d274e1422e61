import { hash, randomBytes } from 'node:crypto';
import type { Secret } from '../secrets/secret.ts';
import type { Binding, Vault } from '../secrets/vault.ts';
import type { BoundSecret } from './store.ts';

/** Seals and opens the secrets of one user, each for its path and destination. */
export interface UserSeals {
  seal(path: string, secret: Secret, destination: string): BoundSecret;
  /** @throws VaultError when it was stored for another user, path or destination, or changed */
  open(path: string, bound: BoundSecret): Secret;
}

/** How many sealed secrets are remembered: a few hundred bytes each. */
const REMEMBERED = 4_000;

/**
 * Seals by the vault. A program that posts its whole settings at each start sends the same secrets again and again:
 * what was sealed lately is not sealed anew. Of the value a digest is remembered, salted for this process.
 */
export class Seals {
  readonly #vault: Vault;
  readonly #salt = randomBytes(16).toString('hex');
  readonly #sealed = new Map<string, BoundSecret>();

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  of(userId: string): UserSeals {
    return {
      seal: (path, secret, destination) => this.#seal(userId, path, secret, destination),
      open: (path, { sealed, destination }) =>
        this.#vault.open(sealed, settingsBinding(userId, path, destination)),
    };
  }

  #seal(userId: string, path: string, secret: Secret, destination: string): BoundSecret {
    // Only the value, which comes last, can hold the separator: no two secrets have the same digest.
    const digest = hash(
      'sha256',
      `${this.#salt}\0${userId}\0${path}\0${destination}\0${secret.unwrap()}`,
      'base64',
    );
    const known = this.#sealed.get(digest);
    if (known) return known;
    const sealed = this.#vault.seal(secret, settingsBinding(userId, path, destination));
    const bound = { sealed, destination };
    const [oldest] = this.#sealed.keys();
    if (this.#sealed.size >= REMEMBERED && oldest !== undefined) this.#sealed.delete(oldest);
    this.#sealed.set(digest, bound);
    return bound;
  }
}

/** What a secret of the settings is bound to. */
export function settingsBinding(userId: string, path: string, destination: string): Binding {
  return ['settings', userId, path, destination];
}

import { hash, randomBytes } from 'node:crypto';
import { Secret } from '../secrets/secret.ts';
import type { CredentialHash } from './store.ts';

/** So that a key is recognised where it should not be: in a log, a paste, a repository. */
const KEY_PREFIX = 'parley_';

/** A key of 256 random bits. */
export function newKey(): Secret {
  return new Secret(KEY_PREFIX + randomBytes(32).toString('base64url'));
}

/** What a browser session is known by: 256 random bits. */
export function newSessionToken(): Secret {
  return new Secret(randomBytes(32).toString('base64url'));
}

/**
 * Credentials are looked up by their hash: finding one compares hashes of what was shown, whose bits an attacker
 * does not choose, so the time a lookup takes says nothing about a key. Without salt, as 256 random bits need none.
 */
export function hashOf(credential: string): CredentialHash {
  return hash('sha256', credential, 'hex');
}

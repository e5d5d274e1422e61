import { randomBytes, randomUUID } from 'node:crypto';
import type { Secret } from '../secrets/secret.ts';
import { hashOf, newKey } from './credential.ts';
import type { ApiKey, KeyStore, User } from './store.ts';

/** What a user may be called: it stands in command lines, logs and pages. */
export const USER_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** The user of that name, made when there is none. To be called in a transaction. */
export async function ensureUser(keys: KeyStore, name: string, now = new Date()): Promise<User> {
  const known = await keys.findUser(name);
  if (known) return known;
  const user: User = { id: randomUUID(), name, createdAt: now.toISOString(), disabledAt: null };
  await keys.addUser(user);
  return user;
}

/** Makes one more key of a user. The key itself is not kept: this is the only time it can be read. */
export async function createKey(
  keys: KeyStore,
  user: User,
  options: { label: string; expiresAt: Date | null; now?: Date },
): Promise<{ id: string; key: Secret }> {
  const key = newKey();
  const id = await recordKey(keys, user, key, options);
  return { id, key };
}

/** Lets a key count that came from elsewhere. */
export async function recordKey(
  keys: KeyStore,
  user: User,
  key: Secret,
  { label, expiresAt, now = new Date() }: { label: string; expiresAt: Date | null; now?: Date },
): Promise<string> {
  const row: ApiKey = {
    id: randomBytes(6).toString('hex'),
    userId: user.id,
    label,
    createdAt: now.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    revokedAt: null,
    lastUsedAt: null,
  };
  await keys.addKey(row, hashOf(key.unwrap()));
  return row.id;
}

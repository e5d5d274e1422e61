import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditStore } from '../audit/audit.ts';
import { Secret } from '../secrets/secret.ts';
import { StartError } from '../start-error.ts';
import type { Transact } from '../transact.ts';
import { hashOf, newKey } from './credential.ts';
import { ensureUser, recordKey } from './keys.ts';
import { DEFAULT_USER, type KeyStore } from './store.ts';

interface KeyStores {
  keys: KeyStore;
  audit: AuditStore;
}

/** The file in the data directory that a key is written to when none is given. */
export const SESSION_KEY_FILE = 'session-api-key';

/** What the one key is labelled that comes from the environment or the file. No other key may have the label. */
export const SESSION_KEY_LABEL = 'session-api-key';

/**
 * Sees to it that the user `default` has exactly one session key: the given one, else the one in the file, else a
 * new one that is written there. A former one counts no more. Gives the new one, to be shown once.
 * @throws StartError when the given key is one of another user's
 */
export async function ensureSessionKey(options: {
  dataDir: string;
  given: Secret | null;
  transact: Transact<KeyStores>;
  now?: Date;
}): Promise<{ made: Secret | null; file: string }> {
  const { dataDir, given, transact, now = new Date() } = options;
  const file = join(dataDir, SESSION_KEY_FILE);
  if (given) {
    await transact((stores) => adopt(stores, given, { revive: true, now }));
    return { made: null, file };
  }
  const written = await readKey(file);
  if (written && (await transact((stores) => adopt(stores, written, { revive: false, now })))) {
    return { made: null, file };
  }
  // First the file: a key that counts but that nobody can read would be of no use.
  const made = newKey();
  await rm(file, { force: true });
  await writeFile(file, `${made.unwrap()}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await transact((stores) => adopt(stores, made, { revive: true, now }));
  return { made, file };
}

/**
 * Makes it the session key, and revokes the former one. One that was revoked comes back only when the operator gives
 * it (`revive`), not because it still stands in a file; then false.
 */
async function adopt(
  { keys, audit }: KeyStores,
  key: Secret,
  { revive, now }: { revive: boolean; now: Date },
): Promise<boolean> {
  const user = await ensureUser(keys, DEFAULT_USER, now);
  const known = await keys.findKey(hashOf(key.unwrap()));
  if (known && known.userId !== user.id) {
    throw new StartError(`SESSION_API_KEY is a key of the user ${known.userName}. Give another.`);
  }
  if (known && known.revokedAt !== null) {
    if (!revive) return false;
    await keys.restoreKey(known.keyId);
  }
  const id =
    known?.keyId ?? (await recordKey(keys, user, key, { label: SESSION_KEY_LABEL, expiresAt: null, now }));
  const noted = { userId: user.id, actor: 'service', detail: { label: SESSION_KEY_LABEL } };
  if (known?.revokedAt !== null) await audit.add([{ action: 'key.created', ...noted, subject: id }]);
  for (const other of await keys.listKeys(user.id)) {
    if (other.id !== id && other.label === SESSION_KEY_LABEL && other.revokedAt === null) {
      await keys.revokeKey(other.id, now.toISOString());
      await audit.add([{ action: 'key.revoked', ...noted, subject: other.id }]);
    }
  }
  return true;
}

async function readKey(file: string): Promise<Secret | null> {
  try {
    const text = (await readFile(file, 'utf8')).trim();
    return text === '' ? null : new Secret(text);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new StartError(`The file ${file} cannot be read: ${error instanceof Error ? error.message : ''}`);
  }
}

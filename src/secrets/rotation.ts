import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../start-error.ts';
import { KEY_FILE, OLD_KEY_FILE, parseKey, readIfThere, syncDirectory, writeDurably } from './key-file.ts';

/** The next key, on its way to its place. */
const NEW_KEY_FILE = `${KEY_FILE}.new`;

/** Told after each step, when it is on disk. */
export type Tell = (line: string) => void;

/**
 * Puts another key into the place of the one in the data directory, which stays beside it as the old one until
 * {@link dropOldKey}: from the moment the new one is there, the vault opens with both. Goes on with a change that was
 * interrupted. No server may run.
 * @param from a file with the new key; null makes one
 */
export function changeKeyFile(dataDir: string, from: string | null, tell: Tell): void {
  const at = (name: string): string => join(dataDir, name);
  const current = readIfThere(at(KEY_FILE));
  if (current === null) throw new StartError(`There is no key file ${at(KEY_FILE)} to change.`);
  const old = readIfThere(at(OLD_KEY_FILE));
  const given = from === null ? null : parseKey(readGiven(from), from);
  if (old !== null && !sameKey(old, current)) {
    if (given !== null && !given.equals(parseKey(current, KEY_FILE))) {
      throw new StartError(
        'A change of keys was interrupted: finish it first, by "parley secrets rotate" without --key-file.',
      );
    }
    tell('A change of keys was interrupted; it goes on.');
    return;
  }
  // Both are left of a change that had not changed anything yet.
  for (const name of [OLD_KEY_FILE, NEW_KEY_FILE]) rmSync(at(name), { force: true });
  const key = given ?? randomBytes(32);
  if (key.equals(parseKey(current, KEY_FILE))) {
    throw new StartError(`${from} has the key that is in use already. Nothing was changed.`);
  }
  writeDurably(at(NEW_KEY_FILE), `${key.toString('base64')}\n`);
  tell('The new key is written.');
  linkSync(at(KEY_FILE), at(OLD_KEY_FILE));
  syncDirectory(dataDir);
  tell(`The old key is kept in ${at(OLD_KEY_FILE)} until nothing needs it.`);
  renameSync(at(NEW_KEY_FILE), at(KEY_FILE));
  syncDirectory(dataDir);
  tell(`The new key is in its place, ${at(KEY_FILE)}.`);
}

/** Removes the key before the present one, when nothing is sealed with it any more. */
export function dropOldKey(dataDir: string, tell: Tell): void {
  rmSync(join(dataDir, OLD_KEY_FILE), { force: true });
  syncDirectory(dataDir);
  tell(
    'The old key is removed. Backups made before still need it: they have it, unless made with --without-key.',
  );
}

function readGiven(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartError(`${path} cannot be read: ${error instanceof Error ? error.message : ''}`);
  }
}

function sameKey(one: string, other: string): boolean {
  return parseKey(one, OLD_KEY_FILE).equals(parseKey(other, KEY_FILE));
}

import { KEY_FILE } from '../secrets/key-file.ts';
import { DATABASE_FILE, LOCK_FILE } from '../storage/storage.ts';

/** What of a data directory is not copied as it lies there: the database is copied by itself, the lock says nothing. */
export const NOT_COPIED: ReadonlySet<string> = new Set([
  DATABASE_FILE,
  `${DATABASE_FILE}-wal`,
  `${DATABASE_FILE}-shm`,
  `${DATABASE_FILE}-journal`,
  LOCK_FILE,
]);

/** Also one that is being made, or that takes the place of another. */
export function isKeyFile(name: string): boolean {
  return name === KEY_FILE || name.startsWith(`${KEY_FILE}.`);
}

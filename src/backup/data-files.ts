import { KEY_FILE, OLD_KEY_FILE } from '../secrets/key-file.ts';
import { DATABASE_FILE, LOCK_FILE } from '../storage/storage.ts';

/** What of a data directory is not copied as it lies there: the database is copied by itself, the lock says nothing. */
export const NOT_COPIED: ReadonlySet<string> = new Set([
  DATABASE_FILE,
  `${DATABASE_FILE}-wal`,
  `${DATABASE_FILE}-shm`,
  `${DATABASE_FILE}-journal`,
  LOCK_FILE,
]);

export const KEY_FILES: ReadonlySet<string> = new Set([KEY_FILE, OLD_KEY_FILE]);

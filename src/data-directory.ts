import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  opendirSync,
  openSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from './start-error.ts';
import { DATABASE_FILE } from './storage/storage.ts';

/** A folder for each conversation, by its number. */
export function workspacesIn(dataDir: string): string {
  return join(dataDir, 'workspaces');
}

/** Where a restore puts things before they are whole. */
export const UNFINISHED_RESTORE = '.restore';

/**
 * Makes the data directory when it is missing, and the database file so that only its owner reads it.
 * @throws StartError when it cannot be written
 */
export function prepareDataDirectory(dataDir: string): void {
  explained(dataDir, () => {
    makeDataDirectory(dataDir);
    refuseUnusable(dataDir);
    // SQLite gives its other files the mode of this one.
    closeSync(openSync(join(dataDir, DATABASE_FILE), 'a', 0o600));
  });
}

/**
 * Sees that there is a data directory: whoever works on what is stored makes none where the path is wrong.
 * @throws StartError when there is no database in it, or it cannot be written
 */
export function expectDataDirectory(dataDir: string): void {
  explained(dataDir, () => {
    if (!existsSync(dataDir)) throw noDatabase(dataDir);
    refuseUnusable(dataDir);
    if (!existsSync(join(dataDir, DATABASE_FILE))) throw noDatabase(dataDir);
  });
}

export function noDatabase(dataDir: string): StartError {
  return new StartError(
    `There is no database in ${dataDir}. PARLEY_DATA_DIR names the directory; the first start of a server makes what is missing.`,
  );
}

function refuseUnusable(dataDir: string): void {
  // ENOTDIR tells more of a file in its place than what it lacks to be passed through.
  opendirSync(dataDir).closeSync();
  accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  if (existsSync(join(dataDir, UNFINISHED_RESTORE))) throw unfinished(dataDir);
}

function explained(dataDir: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new StartError(
      `The data directory ${dataDir} cannot be written (${why}). Mend its permissions, or name another in PARLEY_DATA_DIR.`,
      { cause: error },
    );
  }
}

/**
 * Makes the data directory and what is above it, when they are missing.
 * As root, sandboxes run under other users: they must be able to pass through to their workspace.
 */
export function makeDataDirectory(dataDir: string): void {
  makeDirectory(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
}

/** Node's own `recursive` never ends where a file system takes no directories and says that there is nothing (/proc). */
function makeDirectory(path: string, mode: number): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path), mode);
  try {
    mkdirSync(path, mode);
    // Whatever our umask is.
    chmodSync(path, mode);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(path)) throw error;
  }
}

function unfinished(dataDir: string): StartError {
  return new StartError(
    `A restore into ${dataDir} did not come to its end. Empty the directory and restore again.`,
  );
}

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from '../start-error.ts';
import { Secret } from './secret.ts';
import { type Binding, type Sealed, Vault, VaultError } from './vault.ts';

/** The name of the key in the data directory, when it is not given from outside. */
export const KEY_FILE = 'secret-key';

const SENTINEL = 'vault-sentinel';
const SENTINEL_BINDING: Binding = ['meta', '', SENTINEL, ''];

/** Where the sentinel is kept: beside the secrets it stands for. */
export interface SentinelStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

/**
 * The vault over the key that is given, or the one in the data directory, which the first start makes. A sealed
 * sentinel in the database is opened to see that it is the key the stored secrets were sealed with.
 * @throws StartError when it is another key, or the key is gone; then nothing was written
 */
export async function openVault(options: {
  dataDir: string;
  given: Secret | null;
  sentinel: SentinelStore;
}): Promise<Vault> {
  const sealed = await options.sentinel.get(SENTINEL);
  const path = join(options.dataDir, KEY_FILE);
  const key = options.given
    ? Buffer.from(options.given.unwrap(), 'base64')
    : keyFromFile(path, sealed === undefined);
  const vault = new Vault(key);
  if (sealed === undefined) {
    await options.sentinel.set(SENTINEL, vault.seal(new Secret(SENTINEL), SENTINEL_BINDING));
    return vault;
  }
  try {
    // The row was written by the branch above, or is refused by the vault.
    vault.open(sealed as Sealed, SENTINEL_BINDING);
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const source = options.given ? 'PARLEY_SECRET_KEY' : path;
    throw new StartError(
      `The key in ${source} is not the one the stored secrets were sealed with. Nothing was changed. ` +
        'Give the former key; without it the stored secrets are lost, and only a new data directory helps.',
      { cause: error },
    );
  }
  return vault;
}

function keyFromFile(path: string, mayMake: boolean): Buffer {
  const text = readIfThere(path) ?? (mayMake ? makeKeyFile(path) : null);
  if (text === null) {
    throw new StartError(
      `The key file ${path} is gone, but the database has secrets sealed with its key. Nothing was changed. ` +
        'Put the file back from a backup, or give its content as PARLEY_SECRET_KEY.',
    );
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== 32) {
    throw new StartError(`The key file ${path} must hold 32 bytes in base64. Put it back from a backup.`);
  }
  return key;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new StartError(
      `The key file ${path} cannot be read: ${error instanceof Error ? error.message : ''}`,
    );
  }
}

/** On disk before it is used, whole or not at all, and never over a file that is there. */
function makeKeyFile(path: string): string {
  const text = `${randomBytes(32).toString('base64')}\n`;
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(draft, path);
  } finally {
    rmSync(draft);
  }
  const directory = openSync(dirname(path), 'r');
  fsyncSync(directory);
  closeSync(directory);
  return text;
}

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from '../start-error.ts';
import { Secret } from './secret.ts';
import { type Binding, type Sealed, Vault, VaultError } from './vault.ts';

/** The name of the key in the data directory, when it is not given from outside. */
export const KEY_FILE = 'secret-key';
/** The former key, while what it sealed is sealed anew with the one in {@link KEY_FILE}. */
export const OLD_KEY_FILE = 'secret-key.old';

/** The key while it is made, named by who makes it. */
const DRAFT = new RegExp(`^${KEY_FILE}\\.([0-9]+)$`);

const SENTINEL = 'vault-sentinel';
const SENTINEL_BINDING: Binding = ['meta', '', SENTINEL, ''];

/** Where the sentinel is kept: beside the secrets it stands for. */
export interface SentinelStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

/** Where keys come from: given from outside, or else files of the data directory. */
export interface KeySource {
  dataDir: string;
  given: Secret | null;
  /** Beside `given`: the one before it. */
  previous?: Secret | null;
}

/**
 * The vault over the key that is given, or the one in the data directory, which the first start makes. A sealed
 * sentinel in the database is opened to see that it is the key the stored secrets were sealed with.
 * @throws StartError when it is another key, or the key is gone; then nothing was written
 */
export async function openVault(options: KeySource & { sentinel: SentinelStore }): Promise<Vault> {
  removeDrafts(options.dataDir);
  const sealed = await options.sentinel.get(SENTINEL);
  const vault = vaultOf(options, sealed === undefined);
  if (sealed === undefined) {
    await sealSentinel(vault, options.sentinel);
    return vault;
  }
  if (opensSentinel(vault, sealed)) return vault;
  const source = options.given ? 'PARLEY_SECRET_KEY' : join(options.dataDir, KEY_FILE);
  throw new StartError(
    `The key in ${source} is not the one the stored secrets were sealed with. Nothing was changed. ` +
      'Give the former key; without it the stored secrets are lost, and only a new data directory helps.',
  );
}

/** Seals the sentinel with the vault's key: from then on no other key is taken for it. */
export async function sealSentinel(vault: Vault, sentinel: SentinelStore): Promise<void> {
  await sentinel.set(SENTINEL, vault.seal(new Secret(SENTINEL), SENTINEL_BINDING));
}

/**
 * Whether the keys at hand open what the database with these `meta` holds; null where it has sealed nothing yet.
 * Changes nothing. @throws StartError when there is no key, or one that is none
 */
export function keyFits(source: KeySource, meta: ReadonlyMap<string, string>): boolean | null {
  const sealed = meta.get(SENTINEL);
  return sealed === undefined ? null : opensSentinel(vaultOf(source, false), sealed);
}

function vaultOf({ dataDir, given, previous }: KeySource, mayMake: boolean): Vault {
  if (given) return new Vault(keyOf(given), previous ? keyOf(previous) : null);
  const old = readIfThere(join(dataDir, OLD_KEY_FILE));
  return new Vault(
    keyFromFile(join(dataDir, KEY_FILE), mayMake),
    old === null ? null : parseKey(old, join(dataDir, OLD_KEY_FILE)),
  );
}

function opensSentinel(vault: Vault, sealed: string): boolean {
  try {
    // Written by sealSentinel, or refused by the vault.
    vault.open(sealed as Sealed, SENTINEL_BINDING);
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}

function keyOf(text: Secret): Buffer {
  return Buffer.from(text.unwrap(), 'base64');
}

function keyFromFile(path: string, mayMake: boolean): Buffer {
  const text = readIfThere(path) ?? (mayMake ? makeKeyFile(path) : null);
  if (text === null) {
    throw new StartError(
      `The key file ${path} is gone, but the database has secrets sealed with its key. Nothing was changed. ` +
        'Put the file back from a backup, or give its content as PARLEY_SECRET_KEY.',
    );
  }
  return parseKey(text, path);
}

/** @throws StartError when it is not 32 bytes in base64 */
export function parseKey(text: string, path: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === 32) return key;
  throw new StartError(`The key file ${path} must hold 32 bytes in base64. Put it back from a backup.`);
}

/** The text of a key file, or null where there is none. @throws StartError when it cannot be read */
export function readIfThere(path: string): string | null {
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
  writeDurably(draft, text);
  try {
    linkSync(draft, path);
  } finally {
    rmSync(draft);
  }
  syncDirectory(dirname(path));
  return text;
}

/** What those left who were killed while they made the key. */
function removeDrafts(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = DRAFT.exec(name)?.[1];
    if (pid !== undefined && !isOther(Number(pid))) rmSync(join(dataDir, name), { force: true });
  }
}

/** Whether it is another process. One in a container has the number that the one before it had. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Says of a file with a key who besides its owner can get at it, and what to do; null when nobody can. */
export function openToOthers(path: string): { detail: string; advice: string } | null {
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  if ((mode & 0o077) === 0) return null;
  return {
    detail: `${path} has mode ${mode.toString(8)}: others can read it`,
    advice: `Call: chmod 600 ${path}`,
  };
}

/** A file that was not there, readable by its owner alone, on disk when this returns. */
export function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** What was made, renamed and removed in a directory is so after a crash too. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

import { execFile } from 'node:child_process';
import { constants, createReadStream, existsSync, mkdirSync } from 'node:fs';
import { open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { makeDataDirectory, UNFINISHED_RESTORE } from '../data-directory.ts';
import { keyFits, type KeySource } from '../secrets/key-file.ts';
import { StartError } from '../start-error.ts';
import { isKnownMigration } from '../storage/migrations/migrate.ts';
import { inspectDatabase } from '../storage/snapshot.ts';
import { DATABASE_FILE, LOCK_FILE, lockDataDirectory } from '../storage/storage.ts';
import { decompressionOf } from './compression.ts';
import { NOT_COPIED } from './data-files.ts';
import {
  CLOSING_FILE,
  FORMAT,
  OPENING_FILE,
  type Opening,
  parseClosing,
  parseOpening,
  Sum,
} from './manifest.ts';
import { type ReadEntry, readTar } from './read-tar.ts';
import { NotAnArchive } from './tar-format.ts';
import { TreeWriter } from './tree-writer.ts';

export interface RestoreOptions {
  /** Must be empty or missing. */
  dataDir: string;
  file: string;
  /** The key that is given from outside, if any. */
  keys: KeySource;
}

/** Whether the key at hand opens what was restored; null when there is none yet. */
export type Restored = { opening: Opening; keyFits: boolean | null };

/** More than what the opening and the closing ever are. */
const MOST_OF_A_MANIFEST = 1024 * 1024;

/**
 * Restores a backup into an empty data directory: all of it, or nothing when this rejects.
 * @throws StartError for a directory that is not empty, and for a backup that is damaged, not whole, or of a later release
 */
export async function restore({ dataDir, file, keys }: RestoreOptions): Promise<Restored> {
  if (!existsSync(file)) throw new StartError(`There is no file ${file}.`);
  const isMade = !existsSync(dataDir);
  makeDataDirectory(dataDir);
  await refuseUnlessEmpty(dataDir);
  const lock = lockDataDirectory(dataDir);
  const staging = join(dataDir, UNFINISHED_RESTORE);
  try {
    await rm(staging, { recursive: true, force: true });
    mkdirSync(staging, { mode: 0o700 });
    const opening = await explained(file, () => unpack(file, staging));
    const fits = check(staging, keys);
    // One call for all files: one sync for each would take as long as there are files.
    await promisify(execFile)('sync', ['-f', '--', staging]).catch(() => undefined);
    await putInPlace(staging, dataDir);
    return { opening, keyFits: fits };
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    // While it is held, so that it is no other's.
    await rm(join(dataDir, LOCK_FILE), { force: true });
    if (isMade) await rmdir(dataDir).catch(() => undefined);
    throw error;
  } finally {
    lock.release();
  }
}

async function refuseUnlessEmpty(dataDir: string): Promise<void> {
  const passed = new Set([LOCK_FILE, `${LOCK_FILE}-journal`, UNFINISHED_RESTORE]);
  const there = (await readdir(dataDir)).filter((name) => !passed.has(name));
  if (there.length === 0) return;
  throw new StartError(
    `${dataDir} is not empty (${there.slice(0, 3).join(', ')}). Name an empty one in PARLEY_DATA_DIR.`,
  );
}

async function unpack(file: string, staging: string): Promise<Opening> {
  const opened = await decompressionFor(file);
  return await pipeline(createReadStream(file), opened, async (bytes: AsyncIterable<Buffer>) => {
    await using root = await open(staging, constants.O_RDONLY | constants.O_DIRECTORY);
    await using writer = new TreeWriter(root, process.getuid?.() === 0);
    return await writeAll(bytes, writer);
  });
}

async function writeAll(bytes: AsyncIterable<Buffer>, writer: TreeWriter): Promise<Opening> {
  const sum = new Sum();
  let opening: Opening | undefined;
  let whole = false;
  for await (const read of readTar(bytes)) {
    const { entry, content } = read;
    const name = entry.path.toString('utf8');
    if (whole) throw new NotAnArchive('something follows its end');
    if (name === CLOSING_FILE) {
      const said = parseClosing(await textOf(read));
      const is = sum.end();
      if (said.sha256 !== is.sha256 || said.entries !== is.entries)
        throw new NotAnArchive('its checksum is wrong');
      whole = true;
      continue;
    }
    sum.header(entry);
    if (opening === undefined) {
      if (name !== OPENING_FILE) throw new NotAnArchive(`it does not begin with ${OPENING_FILE}`);
      const text = await textOf(read);
      sum.content(text);
      opening = parseOpening(text);
      refuseLater(opening);
      continue;
    }
    if (isOurs(name)) throw new NotAnArchive(`it has a file ${name}`);
    await writer.write(entry, summed(content, sum));
  }
  await writer.end();
  if (opening === undefined || !whole) throw new NotAnArchive('its end is missing');
  return opening;
}

/** What a data directory has that no backup brings. */
function isOurs(name: string): boolean {
  const [top = ''] = name.split('/', 1);
  return (NOT_COPIED.has(top) && top !== DATABASE_FILE) || top === UNFINISHED_RESTORE;
}

async function* summed(content: AsyncIterable<Buffer>, sum: Sum): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    sum.content(chunk);
    yield chunk;
  }
}

async function textOf({ entry, content }: ReadEntry): Promise<Buffer> {
  if (entry.type !== 'file' || entry.size > MOST_OF_A_MANIFEST)
    throw new NotAnArchive('its description is none');
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

async function decompressionFor(file: string): Promise<Transform> {
  await using handle = await open(file, 'r');
  const first = Buffer.alloc(4);
  const { bytesRead } = await handle.read(first, 0, 4, 0);
  return decompressionOf(first.subarray(0, bytesRead));
}

function refuseLater({ version, migrations, parley }: Opening): void {
  if (version <= FORMAT && migrations.every(isKnownMigration)) return;
  throw new StartError(
    `The backup was made by a later release of Parley (${parley}), which this one cannot read. Restore it with that release.`,
  );
}

/** @throws StartError when the database is not what a server could go on with */
function check(staging: string, keys: KeySource): boolean | null {
  const path = join(staging, DATABASE_FILE);
  if (!existsSync(path)) throw new StartError('The backup has no database in it. Nothing was changed.');
  const { problems, unknown, meta } = inspectDatabase(path);
  if (problems.length > 0)
    throw new StartError(`The database in the backup is damaged: ${problems[0]}. Nothing was changed.`);
  if (unknown.length > 0) {
    throw new StartError(
      `The database in the backup was written by a later release (${unknown.join(', ')}). Nothing was changed.`,
    );
  }
  try {
    return keyFits({ ...keys, dataDir: staging }, meta);
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

/** The database last: without it, and with the folder that is removed at the end, nothing starts. */
async function putInPlace(staging: string, dataDir: string): Promise<void> {
  const names = await readdir(staging, { encoding: 'buffer' });
  const isDatabase = (name: Buffer): boolean => name.toString() === DATABASE_FILE;
  for (const name of [...names.filter((name) => !isDatabase(name)), ...names.filter(isDatabase)]) {
    await rename(
      Buffer.concat([Buffer.from(`${staging}/`), name]),
      Buffer.concat([Buffer.from(`${dataDir}/`), name]),
    );
  }
  await rmdir(staging);
  await using directory = await open(dataDir, 'r');
  await directory.sync();
}

async function explained<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // The disk and its permissions have messages of their own.
    if (/^E[A-Z]+$/.test(code) && code !== 'EEXIST') throw error;
    const why = error instanceof NotAnArchive ? error.message : 'it is damaged';
    throw new StartError(`${file} is not a whole backup: ${why}. Nothing was changed.`, { cause: error });
  }
}

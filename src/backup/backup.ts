import { randomBytes } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { noDatabase, UNFINISHED_RESTORE } from '../data-directory.ts';
import { version } from '../observe/version.ts';
import { keyFits, type KeySource } from '../secrets/key-file.ts';
import { StartError } from '../start-error.ts';
import { copyDatabase, inspectDatabase } from '../storage/snapshot.ts';
import { DATABASE_FILE } from '../storage/storage.ts';
import { archive } from './archive.ts';
import { compressionOf } from './compression.ts';
import { isKeyFile, NOT_COPIED } from './data-files.ts';
import { FORMAT, type Opening } from './manifest.ts';

export interface BackupOptions {
  dataDir: string;
  /** Keys that are given from outside are never put into a backup. */
  keys: KeySource;
  /** Its ending says how it is compressed. */
  file: string;
  withKey: boolean;
  /** Told of what is not in the backup as it was on the disk. */
  leftOut: (path: string, why: string) => void;
}

/**
 * Writes a backup of a data directory, which a server may use meanwhile. The file appears whole or not at all, can be
 * read by its owner alone, and is on disk when this resolves.
 * @throws StartError when the file is there already, or the key at hand does not open what the database holds
 */
export async function backUp(options: BackupOptions): Promise<{ bytes: number; opening: Opening }> {
  const { dataDir, file } = options;
  const compression = compressionOf(file);
  if (compression === null) {
    throw new StartError(
      `${basename(file)} must end in .tar, .tar.gz or .tar.zst: that says how to write it.`,
    );
  }
  if (!existsSync(dirname(file))) throw new StartError(`There is no directory ${dirname(file)}.`);
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`);
  await using cleaned = new AsyncDisposableStack();
  for (const path of [draft, `${draft}.db`]) cleaned.defer(() => rm(path, { force: true }));
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const output = cleaned.use(await open(draft, flags, 0o600));
  const { handle, opening } = await copyOf(options, `${draft}.db`);
  const database = { name: DATABASE_FILE, handle: cleaned.use(handle) };
  const folder = cleaned.use(await open(dataDir, constants.O_RDONLY | constants.O_DIRECTORY));
  const { dev, ino } = await output.stat({ bigint: true });
  const skips = (path: Buffer, identity: string): boolean =>
    identity === `${dev}:${ino}` || isSkipped(path.toString('utf8'), options.withKey);
  const bytes = archive({ opening, database, folder, skips, leftOut: options.leftOut });
  await pipeline(bytes, compression(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) await output.appendFile(chunk);
  });
  await output.sync();
  const { size } = await output.stat();
  // Not by rename: that would replace a backup of the same name.
  await link(draft, file).catch((error: unknown) => {
    throw hasCode(error, 'EEXIST') ? new StartError(`${file} is there already; nothing was changed.`) : error;
  });
  await using directory = await open(dirname(file), 'r');
  await directory.sync();
  return { bytes: size, opening };
}

/** The database as it is now, and what the backup says of itself. The copy's name is gone when this resolves. */
async function copyOf(
  { dataDir, withKey, keys }: BackupOptions,
  path: string,
): Promise<{ handle: FileHandle; opening: Opening }> {
  // Made first: SQLite would make it readable by others.
  await (await open(path, 'wx', 0o600)).close();
  try {
    copyDatabase(dataDir, path);
  } catch (error) {
    if (hasCode(error, 'ERR_SQLITE_ERROR') && /unable to open/.test(String(error))) {
      throw noDatabase(dataDir);
    }
    throw error;
  }
  const { migrations, meta, problems } = inspectDatabase(path);
  if (problems.length > 0) {
    throw new StartError(`The database is damaged (${problems[0]}): "parley doctor" says more.`);
  }
  const key = keys.given ? 'PARLEY_SECRET_KEY' : withKey ? 'included' : 'left out';
  if (keyFits(keys, meta) === false) {
    throw new StartError(
      'The key at hand does not open what the database holds, so the backup would be of no use. ' +
        'Give the right one; "parley doctor" says where it is looked for.',
    );
  }
  const handle = await open(path, 'r');
  await rm(path);
  const createdAt = new Date().toISOString();
  return {
    handle,
    opening: { format: 'parley-backup', version: FORMAT, parley: version, createdAt, migrations, key },
  };
}

function isSkipped(path: string, withKey: boolean): boolean {
  if (NOT_COPIED.has(path) || path === UNFINISHED_RESTORE) return true;
  return !withKey && isKeyFile(path);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { UNFINISHED_RESTORE } from '../data-directory.ts';
import { KEY_FILE, keyFits, type KeySource, OLD_KEY_FILE, openToOthers } from '../secrets/key-file.ts';
import { type DatabaseFacts, inspectDatabase } from '../storage/snapshot.ts';
import { DATABASE_FILE } from '../storage/storage.ts';
import { type Check, fail, ok, warn } from './check.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
/** SQLite's locks and shared memory do not work across machines. Magic numbers of statfs(2). */
const NETWORK: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xfe534d42: 'SMB',
  0xff534d42: 'CIFS',
  0x01021997: '9p',
  0x5346414f: 'AFS',
  0x00c36400: 'Ceph',
  0x0bd00bd0: 'Lustre',
  0x47504653: 'GPFS',
};
const IN_MEMORY: Readonly<Record<number, string>> = { 0x01021994: 'tmpfs', 0x858458f6: 'ramfs' };

export async function checkDataDirectory(dataDir: string): Promise<Check[]> {
  const name = 'data directory';
  if (!existsSync(dataDir)) {
    return [warn(name, `${dataDir} is not there`, 'The first start makes it. Or is PARLEY_DATA_DIR right?')];
  }
  return [...checkAccess(dataDir), ...(await checkFileSystem(dataDir))];
}

function checkAccess(dataDir: string): Check[] {
  const name = 'data directory';
  const stats = statSync(dataDir);
  const mode = (stats.mode & 0o777).toString(8);
  if (!stats.isDirectory()) return [fail(name, `${dataDir} is no directory`, 'Name one in PARLEY_DATA_DIR.')];
  if (existsSync(join(dataDir, UNFINISHED_RESTORE))) {
    return [fail(name, 'a restore did not come to its end', `Empty ${dataDir}, and restore again.`)];
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [
      fail(
        name,
        `${dataDir} cannot be written by uid ${process.getuid?.()}`,
        `Call this as the user that the server runs as, or give it the directory: it belongs to uid ${stats.uid}.`,
      ),
    ];
  }
  // Passing through is for the users of sandboxes; listing and writing is for nobody else.
  if ((stats.mode & 0o066) !== 0) {
    return [
      warn(name, `${dataDir} has mode ${mode}: others can look into it`, `Call: chmod go-rw ${dataDir}`),
    ];
  }
  return [ok(name, `${dataDir}, mode ${mode}, can be written`)];
}

async function checkFileSystem(dataDir: string): Promise<Check[]> {
  const { type, bavail, bsize, ffree, files } = await statfs(dataDir);
  const free = bavail * bsize;
  const space = `${(free / GIB).toFixed(1)} GiB free`;
  const network = NETWORK[type];
  const memory = IN_MEMORY[type];
  const checks: Check[] = [];
  if (network !== undefined) {
    const advice = 'Move it to a disk of this machine: a database on it is damaged sooner or later.';
    checks.push(fail('file system', `${network}, over the network`, advice));
  } else if (memory !== undefined) {
    checks.push(warn('file system', `${memory}, in memory`, 'All of it is gone after the next boot.'));
  } else {
    checks.push(ok('file system', 'of this machine'));
  }
  const advice = 'Free some, or have fewer conversations keep their workspace (PARLEY_KEEP_DAYS).';
  if (free < 256 * MIB) checks.push(fail('free space', space, advice));
  else if (free < 5 * GIB) checks.push(warn('free space', space, advice));
  else if (files > 0 && ffree < 10_000)
    checks.push(warn('free space', `${space}, but ${ffree} inodes`, advice));
  else checks.push(ok('free space', space));
  return checks;
}

/** A log of writes that is never taken over into the database. */
const LARGE_WAL = 256 * MIB;

/** What is known of the database is given on, where it could be read. */
export function checkDatabase(dataDir: string): { checks: Check[]; facts: DatabaseFacts | null } {
  const path = join(dataDir, DATABASE_FILE);
  const name = 'database';
  if (!existsSync(path)) return { checks: [ok(name, 'none yet: the first start makes it')], facts: null };
  let facts: DatabaseFacts;
  try {
    facts = inspectDatabase(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const advice =
      'Keep a copy of the directory as it is, then restore a backup into an empty one (parley restore).';
    return { checks: [fail(name, `${path} cannot be read: ${why}`, advice)], facts: null };
  }
  const checks: Check[] = [];
  if (facts.problems.length > 0) {
    const advice = 'Stop the server, keep a copy, and restore a backup into an empty directory.';
    checks.push(fail(name, `it is damaged: ${facts.problems[0]}`, advice));
  } else if (facts.unknown.length > 0) {
    const advice = 'Start that release, or restore a backup that this one made.';
    checks.push(fail(name, `a later release wrote it (${facts.unknown.join(', ')})`, advice));
  } else {
    const size = (statSync(path).size / MIB).toFixed(1);
    checks.push(ok(name, `whole, ${size} MiB, up to ${facts.migrations.at(-1) ?? 'no migration'}`));
  }
  const wal = `${(facts.walBytes / MIB).toFixed(1)} MiB`;
  checks.push(
    facts.walBytes > LARGE_WAL
      ? warn(
          'database log',
          wal,
          'Something reads the database for very long; starting the server anew ends it.',
        )
      : ok('database log', wal),
  );
  return { checks, facts };
}

export function checkKey(keys: KeySource, facts: DatabaseFacts | null): Check[] {
  const path = join(keys.dataDir, KEY_FILE);
  const name = 'secret key';
  const checks: Check[] = [];
  if (existsSync(join(keys.dataDir, OLD_KEY_FILE))) {
    const advice = 'Stop the server and call "parley secrets rotate": it goes on where it stopped.';
    checks.push(warn(name, 'a change of keys was interrupted', advice));
  }
  if (!keys.given) {
    if (!existsSync(path) && facts === null) return [ok(name, 'none yet: the first start makes one')];
    const open = openToOthers(path);
    if (open) checks.push(fail(name, open.detail, open.advice));
  }
  const fits = facts === null ? null : keyFits(keys, facts.meta);
  const source = keys.given ? 'PARLEY_SECRET_KEY' : path;
  if (fits === false) {
    const advice = 'Put the right key there: it is in a backup, or wherever you keep it.';
    checks.push(fail(name, `${source} does not open what the database holds`, advice));
  } else {
    checks.push(
      ok(name, fits === null ? `${source}; nothing is sealed yet` : `${source} opens what is stored`),
    );
  }
  return checks;
}

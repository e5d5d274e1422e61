import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { isKnownMigration } from './migrations/migrate.ts';
import { DATABASE_FILE } from './storage.ts';

/** What a database file says of itself, looked at without changing it. */
export interface DatabaseFacts {
  /** The migrations it has seen, oldest first. */
  migrations: string[];
  /** Those among them that this release does not know: a later one wrote it. */
  unknown: string[];
  /** What SQLite's `quick_check` found; empty when it is whole. */
  problems: string[];
  /** Facts about the database itself, by name. */
  meta: ReadonlyMap<string, string>;
  /** When a conversation was last touched: ISO 8601 in UTC. */
  newest: string | null;
  walBytes: number;
}

/** Milliseconds to wait for a lock; readers of a WAL database hardly ever meet one. */
const BUSY_TIMEOUT_MS = 5_000;

/** @throws Error of SQLite when the file is no database */
export function inspectDatabase(path: string): DatabaseFacts {
  const wal = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0;
  const database = openAsItIs(path);
  try {
    const column = (sql: string, name: string): string[] =>
      database
        .prepare(sql)
        .all()
        .map((row) => String(row[name]));
    const problems = column('pragma quick_check(20)', 'quick_check').filter((line) => line !== 'ok');
    const tables = new Set(column("select name from sqlite_schema where type = 'table'", 'name'));
    const migrations = tables.has('kysely_migration')
      ? column('select name from kysely_migration order by name', 'name')
      : [];
    const meta = tables.has('meta') ? database.prepare('select name, value from meta').all() : [];
    const newest = tables.has('conversations')
      ? database.prepare('select max(updated_at) as newest from conversations').get()?.['newest']
      : null;
    return {
      migrations,
      unknown: migrations.filter((name) => !isKnownMigration(name)),
      problems,
      meta: new Map(meta.map(({ name, value }) => [String(name), String(value)])),
      newest: typeof newest === 'string' ? newest : null,
      walBytes: wal,
    };
  } finally {
    database.close();
  }
}

/**
 * Copies a data directory's database as it is at this moment, whoever writes meanwhile, into a file that must not be
 * there or be empty. Nobody waits for it.
 */
export function copyDatabase(dataDir: string, to: string): void {
  const database = openAsItIs(join(dataDir, DATABASE_FILE));
  try {
    database.prepare('vacuum into ?').run(to);
  } finally {
    database.close();
  }
}

/** Where nobody has it open and nothing is left to take up, not even the files beside it are made. */
function openAsItIs(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('mode', 'ro');
  if (!existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
}

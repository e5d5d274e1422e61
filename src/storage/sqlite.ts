import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteStatement,
} from 'kysely';

/** As many prepared statements as the program has different queries, with room; SQLite frees the rest. */
const STATEMENT_CACHE = 300;

/** Milliseconds a writer waits for another process's lock before it gives up with SQLITE_BUSY. */
const BUSY_TIMEOUT_MS = 5_000;

/** kysely does not trust SQLite to create tables in a transaction. It can, and half a migration must never stay. */
class TransactionalDdl extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class NodeSqliteDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalDdl();
  }
}

/** `node:sqlite` with the face of better-sqlite3 that kysely's own dialect expects, statements kept by their text. */
export function sqliteDialect(database: DatabaseSync): Dialect {
  const statements = new Map<string, SqliteStatement>();
  const facade: SqliteDatabase = {
    close: () => database.close(),
    prepare(asked) {
      // A transaction that begins by reading fails when another process writes meanwhile; one that waits first does not.
      const sql = asked === 'begin' ? 'begin immediate' : asked;
      const known = statements.get(sql);
      if (known) return known;
      const statement = adapt(database.prepare(sql));
      if (statements.size >= STATEMENT_CACHE) {
        const [oldest] = statements.keys();
        if (oldest !== undefined) statements.delete(oldest);
      }
      statements.set(sql, statement);
      return statement;
    },
  };
  return new NodeSqliteDialect({ database: facade });
}

function adapt(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    // kysely hands on what the typed queries were given: strings, numbers and null, all of which SQLite takes.
    // Rows come without a prototype; copied, they equal the same object written by hand.
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])).map((row) => ({ ...row })),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  };
}

/** Opens the database file for writing, readable by its owner alone: WAL, and every commit on disk before it returns. */
export function openForWriting(path: string): DatabaseSync {
  createPrivately(path);
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;');
  return database;
}

/** A second connection that sees what is committed and waits for nobody. */
export function openForReading(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  database.exec('pragma query_only = on;');
  return database;
}

/** Only creates: closing a descriptor of a database that this process has open would drop SQLite's locks on it. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

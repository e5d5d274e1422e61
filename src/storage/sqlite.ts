import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Compilable,
  type CompiledQuery,
  type Dialect,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteStatement,
} from 'kysely';
import { BUSY, resultCode } from './result-code.ts';

/** As many prepared statements as the program has different queries, with room; SQLite frees the rest. */
const STATEMENT_CACHE = 300;

/** Milliseconds a writer waits for another process's lock before it gives up with SQLITE_BUSY. */
const BUSY_TIMEOUT_MS = 5_000;
/** Milliseconds between two looks where SQLite itself does not wait. */
const BUSY_LOOK_MS = 10;

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

/**
 * Pages of 4 KiB that are written ahead before they are moved into the database, by whoever commits then. SQLite's own
 * 1000 have the event loop stand still for that several times a second, and write pages again that soon change again;
 * beyond these it stands still for longer than a request should take.
 */
const WAL_PAGES = 3_000;

/** Kysely over `node:sqlite`. Closes the database when it is destroyed. */
export class SqliteKysely<Tables> extends Kysely<Tables> {
  readonly #statements: Statements;

  constructor(database: DatabaseSync) {
    const statements = new Statements(database);
    super({ dialect: dialectOf(statements) });
    this.#statements = statements;
  }

  /** A query that was built before is run as it is: kysely's own way there, by a lock, costs more than the query. */
  override executeQuery<Row>(query: CompiledQuery<Row> | Compilable<Row>): Promise<QueryResult<Row>> {
    return this.#statements.execute('compile' in query ? query.compile() : query);
  }

  override async destroy(): Promise<void> {
    await super.destroy();
    this.#statements.close();
  }
}

/** The prepared statements of a connection, kept by their text. */
class Statements {
  readonly #database: DatabaseSync;
  readonly #known = new Map<string, SqliteStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  prepare(asked: string): SqliteStatement {
    // A full disk ends a transaction by itself: who rolls back then is to see that error, and not that nothing was left.
    if (asked === 'rollback' && !this.#database.isTransaction) return NOTHING_LEFT;
    // A transaction that begins by reading fails when another process writes meanwhile; one that waits first does not.
    const sql = asked === 'begin' ? 'begin immediate' : asked;
    const known = this.#known.get(sql);
    if (known) return known;
    const statement = adapt(this.#database.prepare(sql));
    const [oldest] = this.#known.keys();
    if (this.#known.size >= STATEMENT_CACHE && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(sql, statement);
    return statement;
  }

  async execute<Row>({ sql, parameters }: CompiledQuery<Row>): Promise<QueryResult<Row>> {
    const statement = this.prepare(sql);
    // The rows are as the query says that was built with the types of the tables.
    if (statement.reader) return { rows: statement.all(parameters) as Row[] };
    const { changes } = statement.run(parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

const NOTHING_LEFT: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
};

/** The face of better-sqlite3 that kysely's own dialect expects. */
function dialectOf(statements: Statements): Dialect {
  const facade: SqliteDatabase = {
    close: () => statements.close(),
    prepare: (sql) => statements.prepare(sql),
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
export async function openForWriting(path: string): Promise<DatabaseSync> {
  createPrivately(path);
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    await writeAhead(database);
    database.exec(
      // What a savepoint would put back is kept in memory: SQLite would write it to a file that nobody needs after a crash.
      `pragma synchronous = full; pragma foreign_keys = on; pragma wal_autocheckpoint = ${WAL_PAGES}; pragma temp_store = memory;`,
    );
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/**
 * A new database becomes one with a write-ahead log by a lock that SQLite asks for once, whatever its time-out: of two
 * processes that open it at once, one would fail.
 */
async function writeAhead(database: DatabaseSync): Promise<void> {
  for (let waited = 0; ; waited += BUSY_LOOK_MS) {
    try {
      database.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      if (resultCode(error) !== BUSY || waited >= BUSY_TIMEOUT_MS) throw error;
    }
    await sleep(BUSY_LOOK_MS);
  }
}

/** A second connection that sees what is committed and waits for nobody. */
export function openForReading(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  database.exec('pragma query_only = on;');
  return database;
}

/**
 * Sees that there is a file, made for its owner alone. Only creates: closing a descriptor of a database that this process
 * has open would drop SQLite's locks on it.
 */
export function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

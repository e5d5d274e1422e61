import { DatabaseSync } from 'node:sqlite';
import { dirname, join } from 'node:path';
import type { Kysely } from 'kysely';
import type { AuditEntry, AuditStore } from '../audit/audit.ts';
import type { Credential, KeyStore } from '../auth/store.ts';
import type { ExperimentStore } from '../conversations/experiments.ts';
import type { IdempotencyStore } from '../conversations/idempotency.ts';
import type { MadeRefStore } from '../conversations/made-refs.ts';
import type { OpenActionStore } from '../conversations/open-actions.ts';
import type { ConversationStore } from '../conversations/store.ts';
import type { EventLog, StoredEvent } from '../events/log.ts';
import type { FeedbackStore } from '../feedback/feedback.ts';
import type { SettingsStore, StoredSettings } from '../settings/store.ts';
import { StartError } from '../start-error.ts';
import type { Transact } from '../transact.ts';
import { GroupCommit } from './group-commit.ts';
import { migrate } from './migrations/migrate.ts';
import { BUSY, isDiskFull, resultCode } from './result-code.ts';
import { Remembered } from './remembered.ts';
import type { Schema } from './schema.ts';
import { createPrivately, openForReading, openForWriting, SqliteKysely } from './sqlite.ts';
import { SqlAuditStore } from './stores/audit.ts';
import { SqlConversationStore } from './stores/conversations.ts';
import { SqlEventLog, storeEvents } from './stores/events.ts';
import { SqlExperimentStore } from './stores/experiments.ts';
import { SqlFeedbackStore } from './stores/feedback.ts';
import { SqlIdempotencyStore } from './stores/idempotency.ts';
import { SqlKeyStore } from './stores/keys.ts';
import { SqlMadeRefStore } from './stores/made-refs.ts';
import { SqlOpenActionStore } from './stores/open-actions.ts';
import { SqlSettingsStore } from './stores/settings.ts';

/** All that is stored, by subject. A service names the few it needs. */
export interface Stores {
  keys: KeyStore;
  settings: SettingsStore;
  conversations: ConversationStore;
  events: EventLog;
  openActions: OpenActionStore;
  madeRefs: MadeRefStore;
  experiments: ExperimentStore;
  idempotency: IdempotencyStore;
  audit: AuditStore;
  feedback: FeedbackStore;
  meta: MetaStore;
}

/** Facts about the database itself. */
export interface MetaStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

export interface Storage {
  /** What is committed, by a connection of its own. Not for writing. */
  read: Stores;
  transact: Transact<Stores>;
  close(): Promise<void>;
}

/** Told of committed events, in the order of the log. */
export type OnCommitted = (conversation: number, events: readonly StoredEvent[]) => void;

export interface StorageOptions {
  /** Told of committed entries of the audit log, in their order. */
  onAudited?: (entry: AuditEntry) => void;
  /** Told of each commit, for the statistics. */
  onMeasured?: (batch: { writes: number; seconds: number; ok: boolean }) => void;
}

/** Thrown when another process serves from the same folder. */
export class DataDirectoryInUse extends Error {
  override readonly name = 'DataDirectoryInUse';
}

/** How many keys are remembered with what decides whether they count: some hundred bytes each. */
const CREDENTIALS = 1_000;
/** How many users' settings are, for reading and within transactions: some kilobytes each. */
const SETTINGS = 500;

/** The name of the database in the data directory. */
export const DATABASE_FILE = 'parley.db';
/** What a serving process holds a lock on. */
export const LOCK_FILE = 'serving.lock';

/**
 * Opens the database of a data directory, brought up to this release.
 * @throws DatabaseTooNew, StartError before anything is changed
 */
export async function openStorage(
  dataDir: string,
  onCommitted: OnCommitted = () => {},
  { onAudited = () => {}, onMeasured = () => {} }: StorageOptions = {},
): Promise<Storage> {
  const { writing, writer, reader } = await openBoth(join(dataDir, DATABASE_FILE));

  /** What is to be told once the batch is on disk. */
  let pending: (() => void)[] = [];
  const credentials = new Remembered<Credential>(writing, CREDENTIALS);
  const settings = new Remembered<StoredSettings | null>(writing, SETTINGS);
  // These are known within transactions alone, which see what they have written themselves.
  const written = new Remembered<StoredSettings | null>(writing, SETTINGS);
  const stores = storesOn(writer, {
    keys: new SqlKeyStore(writer, null, () => pending.push(() => credentials.forget())),
    settings: new SqlSettingsStore(writer, written, () => pending.push(() => settings.forget())),
    appended: (conversation, events) => pending.push(() => onCommitted(conversation, events)),
    noted: (entry) => pending.push(() => onAudited(entry)),
  });
  const commits = new GroupCommit(writing, {
    begun: () => written.look(),
    mark: () => pending.length,
    drop: (mark) => {
      pending.splice(mark);
      written.forget();
    },
    measured: onMeasured,
    publish: () => {
      const committed = pending;
      pending = [];
      for (const one of committed) tell(one);
    },
  });
  return {
    read: storesOn(reader, {
      keys: new SqlKeyStore(reader, credentials, () => {}),
      settings: new SqlSettingsStore(reader, settings, () => {}),
      appended: () => {},
      noted: () => {},
    }),
    transact: (work) => commits.write(() => work(stores)),
    close: async () => {
      await commits.drained();
      await reader.destroy();
      await writer.destroy();
    },
  };
}

/** @throws StartError when there is no room: SQLite keeps files beside the database that it makes when it opens it */
async function openBoth(
  path: string,
): Promise<{ writing: DatabaseSync; writer: Kysely<Schema>; reader: Kysely<Schema> }> {
  let writer: Kysely<Schema> | undefined;
  try {
    const writing = await openForWriting(path);
    writer = new SqliteKysely<Schema>(writing);
    await migrate(writer as Kysely<unknown>);
    return { writing, writer, reader: new SqliteKysely<Schema>(openForReading(path)) };
  } catch (cause) {
    await writer?.destroy();
    if (!isDiskFull(cause)) throw cause;
    throw new StartError(
      `The disk of ${dirname(path)} is full: the database cannot be opened. Free some space, then start again.`,
      { cause },
    );
  }
}

/** A listener that throws is a fault of ours, to be seen as one; but the write it hears of is stored, and others follow. */
function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function storesOn(
  db: Kysely<Schema>,
  {
    keys,
    settings,
    appended,
    noted,
  }: Pick<Stores, 'keys' | 'settings'> & {
    appended: OnCommitted;
    noted: (entry: AuditEntry) => void;
  },
): Stores {
  const store = storeEvents(db, appended);
  return {
    keys,
    settings,
    conversations: new SqlConversationStore(db, store),
    events: new SqlEventLog(db, store),
    openActions: new SqlOpenActionStore(db),
    madeRefs: new SqlMadeRefStore(db),
    experiments: new SqlExperimentStore(db),
    idempotency: new SqlIdempotencyStore(db),
    audit: new SqlAuditStore(db, noted),
    feedback: new SqlFeedbackStore(db),
    meta: {
      get: async (name) =>
        (await db.selectFrom('meta').select('value').where('name', '=', name).executeTakeFirst())?.value,
      set: async (name, value) => {
        await db
          .insertInto('meta')
          .values({ name, value })
          .onConflict((c) => c.column('name').doUpdateSet({ value }))
          .execute();
      },
    },
  };
}

/**
 * Holds a data directory for one serving process, by an exclusive lock that the kernel drops when the process ends,
 * however it ends. @throws DataDirectoryInUse
 */
export function lockDataDirectory(dataDir: string): { release(): void } {
  const path = join(dataDir, LOCK_FILE);
  // Who can read it could lock it.
  createPrivately(path);
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    // A journal in a file would need room, and stay behind after a kill.
    lock.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive;');
  } catch (cause) {
    lock.close();
    if (resultCode(cause) !== BUSY) throw cause;
    throw new DataDirectoryInUse(
      `Another Parley serves from ${dataDir}. Stop it, or give this one a PARLEY_DATA_DIR of its own.`,
      { cause },
    );
  }
  return { release: () => lock.close() };
}

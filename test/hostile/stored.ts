import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { openingOf } from '../../src/agent/opening.ts';
import { requestBinding, storedRequest } from '../../src/conversations/request.ts';
import { KEY_FILE, parseKey } from '../../src/secrets/key-file.ts';
import { type Sealed, Vault } from '../../src/secrets/vault.ts';
import { DATABASE_FILE } from '../../src/storage/storage.ts';

/** What requests of a user have stored, by the user; what runs and timers store by themselves is not in it. */
export type Stored = ReadonlyMap<string, string>;

/** What a conversation's user has said and asked in it, as far as its log was read; nothing of that ever changes. */
interface Said {
  /** How many events were read. */
  read: number;
  /** How many of them a request has brought. */
  count: number;
  /** That the request which made it says something, too. */
  begins: boolean;
}

/** Sees what is committed to the database, cheaply: it looks only when something was, and reads no event twice. */
export class StoredLook {
  readonly #database: DatabaseSync;
  readonly #byRequests: StatementSync;
  readonly #vault: Vault;
  readonly #said = new Map<number, Said>();
  #version: unknown;
  #last: Stored = new Map();

  constructor(dataDir: string) {
    const keyFile = join(dataDir, KEY_FILE);
    this.#vault = new Vault(parseKey(readFileSync(keyFile, 'utf8'), keyFile));
    this.#database = new DatabaseSync(join(dataDir, DATABASE_FILE), { readOnly: true });
    this.#byRequests = this.#database.prepare(BY_REQUESTS);
  }

  look(): Stored {
    const version = this.#database.prepare('pragma data_version').get()?.['data_version'];
    if (version !== this.#version) this.#last = this.#read();
    this.#version = version;
    return this.#last;
  }

  close(): void {
    this.#database.close();
  }

  #read(): Stored {
    // As of one moment, though it takes several queries.
    this.#database.exec('begin');
    try {
      const users = this.#database.prepare('select id, name from users').all();
      return new Map(users.map(({ id, name }) => [String(name), this.#ofUser(String(id))]));
    } finally {
      this.#database.exec('rollback');
    }
  }

  #ofUser(id: string): string {
    const conversations = this.#database.prepare(CONVERSATIONS).all(id);
    return JSON.stringify([
      ...conversations.map((row) => this.#ofConversation(id, row)),
      ...OF_USER.map((sql) => this.#database.prepare(sql).all(id)),
    ]);
  }

  /**
   * The number of a conversation, and how often its user has spoken. What it begins with stands in the sealed request
   * until a run or a message writes it to the log: it counts the same in either place.
   */
  #ofConversation(user: string, row: Record<string, unknown>): [key: number, said: number] {
    const key = Number(row['key']);
    const said = this.#said.get(key) ?? {
      read: 0,
      count: 0,
      begins: this.#begins(user, key, String(row['id'])),
    };
    this.#said.set(key, said);
    const events = Number(row['events']);
    if (events > said.read) {
      said.count += Number(this.#byRequests.get(key, said.read)?.['count']);
      said.read = events;
    }
    const waits = said.begins && Number(row['last_user_message']) < 0;
    return [key, said.count + (waits ? 1 : 0)];
  }

  #begins(user: string, key: number, id: string): boolean {
    const row = this.#database.prepare('select request from conversations where key = ?').get(key);
    // Stored by the service, sealed.
    const sealed = String(row?.['request']) as Sealed;
    const request = storedRequest(this.#vault.open(sealed, requestBinding(user, id)));
    return openingOf(id, request).message !== null;
  }
}

const CONVERSATIONS = `select key, id, last_event_id + 1 as events, last_user_message
  from conversations where user_id = ? order by key`;

// What a user says, asks of the agent or has done. Runs add in a user's name only what they recall for a message, and
// what is replayed; a recording begins with what its request says.
const BY_REQUESTS = `select count(*) as count from events where conversation = ? and id >= ?
  and body ->> '$.source' = 'user' and body ->> '$.action' <> 'recall' and coalesce(body ->> '$.replay', 0) = 0`;

// That a request was refused is noted, too, on purpose.
const OF_USER = [
  'select document, secrets from settings where user_id = ?',
  'select count(*), sum(length(config)) from experiments where user_id = ?',
  'select count(*) from idempotency_keys where user_id = ?',
  'select id, label, revoked_at, expires_at from api_keys where user_id = ?',
  'select count(*) from browser_sessions where key_id in (select id from api_keys where user_id = ?)',
  "select count(*) from audit where user_id = ? and action not in ('token.refused', 'login.failed')",
];

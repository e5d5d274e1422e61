import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DATABASE_FILE } from '../../src/storage/storage.ts';

/** What requests of a user have stored, by the user; what runs and timers store by themselves is not in it. */
export type Stored = ReadonlyMap<string, string>;

/** Sees what is committed to the database, cheaply: it looks only when something was. */
export class StoredLook {
  readonly #database: DatabaseSync;
  #version: unknown;
  #last: Stored = new Map();

  constructor(dataDir: string) {
    this.#database = new DatabaseSync(join(dataDir, DATABASE_FILE), { readOnly: true });
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
    const users = this.#database.prepare('select id, name from users').all();
    return new Map(users.map(({ id, name }) => [String(name), this.#ofUser(String(id))]));
  }

  #ofUser(id: string): string {
    return JSON.stringify(OF_USER.map((sql) => this.#database.prepare(sql).all(id)));
  }
}

// A run adds events, the first message among them, and names its conversation; only a request adds one, says more in it,
// or removes it.
// That it was refused is noted too, on purpose.
const FIRST_MESSAGE = `select id from events where conversation = conversations.key and body ->> '$.action' = 'message'
  and body ->> '$.source' = 'user' order by id limit 1`;
const OF_USER = [
  'select document, secrets from settings where user_id = ?',
  `select count(*), sum(key), sum(nullif(nullif(last_user_message, -1), (${FIRST_MESSAGE})))
  from conversations where user_id = ?`,
  'select count(*), sum(length(config)) from experiments where user_id = ?',
  'select count(*) from idempotency_keys where user_id = ?',
  'select id, label, revoked_at, expires_at from api_keys where user_id = ?',
  'select count(*) from browser_sessions where key_id in (select id from api_keys where user_id = ?)',
  "select count(*) from audit where user_id = ? and action not in ('token.refused', 'login.failed')",
];

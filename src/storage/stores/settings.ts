import type { CompiledQuery, Kysely } from 'kysely';
import type { SettingsStore, StoredSettings } from '../../settings/store.ts';
import type { Schema } from '../schema.ts';

type Row = Omit<Schema['settings'], 'user_id'>;

/** How many users' settings are kept parsed beside their text: some kilobytes each. */
const PARSED = 500;

/**
 * Its two queries are built once: building them anew costs twice what running them does. A row is parsed again only
 * when its text is another than last time, which also costs more than reading it.
 */
export class SqlSettingsStore implements SettingsStore {
  readonly #db: Kysely<Schema>;
  readonly #load: CompiledQuery<Row>;
  readonly #save: CompiledQuery;
  readonly #parsed = new Map<string, { row: Row; settings: StoredSettings }>();

  constructor(db: Kysely<Schema>) {
    this.#db = db;
    this.#load = db
      .selectFrom('settings')
      .select(['document', 'secrets'])
      .where('user_id', '=', '')
      .compile();
    this.#save = db
      .insertInto('settings')
      .values({ user_id: '', document: '', secrets: '' })
      .onConflict((c) =>
        c.column('user_id').doUpdateSet((row) => ({
          document: row.ref('excluded.document'),
          secrets: row.ref('excluded.secrets'),
        })),
      )
      .compile();
  }

  async load(userId: string): Promise<StoredSettings | undefined> {
    const { rows } = await this.#db.executeQuery<Row>({ ...this.#load, parameters: [userId] });
    const [row] = rows;
    if (!row) return undefined;
    const parsed = this.#parsed.get(userId);
    if (parsed?.row.document === row.document && parsed.row.secrets === row.secrets) return parsed.settings;
    // Both were written by save() below.
    const settings = { document: JSON.parse(row.document), secrets: JSON.parse(row.secrets) };
    this.#keep(userId, row, settings);
    return settings;
  }

  async save(userId: string, settings: StoredSettings): Promise<void> {
    const { document, secrets } = settings;
    const former = this.#parsed.get(userId);
    const row = {
      document: JSON.stringify(document),
      secrets: former?.settings.secrets === secrets ? former.row.secrets : JSON.stringify(secrets),
    };
    await this.#db.executeQuery({ ...this.#save, parameters: [userId, row.document, row.secrets] });
    this.#keep(userId, row, settings);
  }

  #keep(userId: string, row: Row, settings: StoredSettings): void {
    this.#parsed.set(userId, { row, settings });
    const [first] = this.#parsed.keys();
    if (this.#parsed.size > PARSED && first !== undefined) this.#parsed.delete(first);
  }
}

import type { CompiledQuery, Kysely } from 'kysely';
import type { SettingsStore, StoredSettings } from '../../settings/store.ts';
import type { Schema } from '../schema.ts';

type Row = Omit<Schema['settings'], 'user_id'>;

/** Its two queries are built once: building them anew costs twice what running them does. */
export class SqlSettingsStore implements SettingsStore {
  readonly #db: Kysely<Schema>;
  readonly #load: CompiledQuery<Row>;
  readonly #save: CompiledQuery;

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
    // Both were written by save() below.
    return row && { document: JSON.parse(row.document), secrets: JSON.parse(row.secrets) };
  }

  async save(userId: string, { document, secrets }: StoredSettings): Promise<void> {
    const parameters = [userId, JSON.stringify(document), JSON.stringify(secrets)];
    await this.#db.executeQuery({ ...this.#save, parameters });
  }
}

import type { Kysely } from 'kysely';
import type { SettingsStore, StoredSettings } from '../../settings/store.ts';
import type { Schema } from '../schema.ts';

export class SqlSettingsStore implements SettingsStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async load(userId: string): Promise<StoredSettings | undefined> {
    const row = await this.#db
      .selectFrom('settings')
      .select(['document', 'secrets'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
    // Both were written by save() below.
    return row && { document: JSON.parse(row.document), secrets: JSON.parse(row.secrets) };
  }

  async save(userId: string, settings: StoredSettings): Promise<void> {
    const document = JSON.stringify(settings.document);
    const secrets = JSON.stringify(settings.secrets);
    await this.#db
      .insertInto('settings')
      .values({ user_id: userId, document, secrets })
      .onConflict((c) => c.column('user_id').doUpdateSet({ document, secrets }))
      .execute();
  }
}

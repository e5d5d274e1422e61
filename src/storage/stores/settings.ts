import type { CompiledQuery, Kysely } from 'kysely';
import type { SettingsStore, StoredSettings } from '../../settings/store.ts';
import type { Remembered } from '../remembered.ts';
import type { Schema } from '../schema.ts';

type Row = Omit<Schema['settings'], 'user_id'>;

/** Its two queries are built once: building them anew costs twice what running them does. */
export class SqlSettingsStore implements SettingsStore {
  readonly #db: Kysely<Schema>;
  readonly #load: CompiledQuery<Row>;
  readonly #save: CompiledQuery;
  readonly #known: Remembered<StoredSettings | null>;
  readonly #changed: () => void;
  /** The text of secrets that were read or written: they mostly stay as they are when the rest changes. */
  readonly #texts = new WeakMap<StoredSettings['secrets'], string>();

  /**
   * @param known what was read here lately, and within transactions written; null for a user who has stored nothing
   * @param changed told inside the transaction
   */
  constructor(db: Kysely<Schema>, known: Remembered<StoredSettings | null>, changed: () => void) {
    this.#db = db;
    this.#known = known;
    this.#changed = changed;
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
    return (await this.#known.get(userId, () => this.#read(userId))) ?? undefined;
  }

  async save(userId: string, settings: StoredSettings): Promise<void> {
    const { document, secrets } = settings;
    const text = this.#texts.get(secrets) ?? JSON.stringify(secrets);
    await this.#db.executeQuery({ ...this.#save, parameters: [userId, JSON.stringify(document), text] });
    this.#texts.set(secrets, text);
    this.#known.set(userId, settings);
    this.#changed();
  }

  async #read(userId: string): Promise<StoredSettings | null> {
    const { rows } = await this.#db.executeQuery<Row>({ ...this.#load, parameters: [userId] });
    const [row] = rows;
    if (!row) return null;
    // Both were written by save() above.
    const secrets: StoredSettings['secrets'] = JSON.parse(row.secrets);
    this.#texts.set(secrets, row.secrets);
    return { document: JSON.parse(row.document), secrets };
  }
}

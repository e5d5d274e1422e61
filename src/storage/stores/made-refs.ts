import type { Kysely } from 'kysely';
import type { MadeRefStore } from '../../conversations/made-refs.ts';
import type { Schema } from '../schema.ts';

/** Of one conversation: a program inside decides how many it makes. */
const MOST = 1_000;

export class SqlMadeRefStore implements MadeRefStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async among(conversation: number, refs: readonly string[]): Promise<string[]> {
    if (refs.length === 0) return [];
    const rows = await this.#db
      .selectFrom('made_refs')
      .select('name')
      .where('conversation', '=', conversation)
      .where('name', 'in', refs)
      .execute();
    return rows.map(({ name }) => name);
  }

  async note(
    conversation: number,
    { made, removed }: { made: readonly string[]; removed: readonly string[] },
  ): Promise<void> {
    if (removed.length > 0) {
      await this.#db
        .deleteFrom('made_refs')
        .where('conversation', '=', conversation)
        .where('name', 'in', removed)
        .execute();
    }
    if (made.length === 0 || !(await this.#isThere(conversation))) return;
    const { kept } = await this.#db
      .selectFrom('made_refs')
      .select((e) => e.fn.countAll<number>().as('kept'))
      .where('conversation', '=', conversation)
      .executeTakeFirstOrThrow();
    const rows = made.slice(0, Math.max(0, MOST - kept)).map((name) => ({ conversation, name }));
    if (rows.length === 0) return;
    await this.#db
      .insertInto('made_refs')
      .values(rows)
      .onConflict((c) => c.doNothing())
      .execute();
  }

  async #isThere(conversation: number): Promise<boolean> {
    const row = await this.#db
      .selectFrom('conversations')
      .select('key')
      .where('key', '=', conversation)
      .executeTakeFirst();
    return row !== undefined;
  }
}

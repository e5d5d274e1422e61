import type { Kysely } from 'kysely';
import type { ExperimentStore } from '../../conversations/experiments.ts';
import type { Schema } from '../schema.ts';

export class SqlExperimentStore implements ExperimentStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async get(userId: string, id: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom('experiments')
      .select('config')
      .where('user_id', '=', userId)
      .where('conversation_id', '=', id)
      .executeTakeFirst();
    return row?.config;
  }

  async save(userId: string, id: string, config: string): Promise<void> {
    await this.#db
      .insertInto('experiments')
      .values({ user_id: userId, conversation_id: id, config })
      .onConflict((c) => c.columns(['user_id', 'conversation_id']).doUpdateSet({ config }))
      .execute();
  }
}

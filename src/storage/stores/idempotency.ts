import type { Kysely } from 'kysely';
import type { IdempotencyStore } from '../../conversations/idempotency.ts';
import type { Schema } from '../schema.ts';

export class SqlIdempotencyStore implements IdempotencyStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async find(userId: string, idempotencyKey: string, after: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom('idempotency_keys')
      .select('conversation_id')
      .where('user_id', '=', userId)
      .where('idempotency_key', '=', idempotencyKey)
      .where('created_at', '>', after)
      .executeTakeFirst();
    return row?.conversation_id;
  }

  async save(userId: string, idempotencyKey: string, id: string, at: string): Promise<void> {
    await this.#db
      .insertInto('idempotency_keys')
      .values({ user_id: userId, idempotency_key: idempotencyKey, conversation_id: id, created_at: at })
      .onConflict((c) =>
        c.columns(['user_id', 'idempotency_key']).doUpdateSet({ conversation_id: id, created_at: at }),
      )
      .execute();
  }
}

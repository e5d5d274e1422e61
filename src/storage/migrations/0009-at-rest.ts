import { type Kysely, sql } from 'kysely';

/** Finds what may be stopped or removed by when it was touched. What is driven, at each of its events, is not in it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('conversations_idle').execute();
  await db.schema
    .createIndex('conversations_at_rest')
    .on('conversations')
    .columns(['status', 'updated_at'])
    .where(sql.ref('driver'), 'is', null)
    .where(sql.ref('wanted'), '=', sql.lit(0))
    .execute();
}

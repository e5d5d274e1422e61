import type { Kysely } from 'kysely';

/** From where a run reads the log, and what the calls of its model may still cost. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('conversations')
    .addColumn('condensation', 'integer', (c) => c.notNull().defaultTo(-1))
    .execute();
  await db.schema
    .alterTable('conversations')
    .addColumn('reserved', 'text', (c) => c.notNull().defaultTo('{}'))
    .execute();
}

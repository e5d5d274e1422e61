import type { Kysely } from 'kysely';

/** Steps are counted through: an allowance begins at some number of them, as the budget does at some cost. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('conversations')
    .addColumn('iterations_from', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
}

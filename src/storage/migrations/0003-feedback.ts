import type { Kysely } from 'kysely';

/** What users think of their conversations. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('feedback')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('conversation', 'integer', (c) =>
      c.notNull().references('conversations.key').onDelete('cascade'),
    )
    .addColumn('at', 'text', (c) => c.notNull())
    .addColumn('last_event_id', 'integer', (c) => c.notNull())
    .addColumn('polarity', 'text')
    .addColumn('permissions', 'text', (c) => c.notNull())
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('feedback_of_conversation').on('feedback').column('conversation').execute();
}

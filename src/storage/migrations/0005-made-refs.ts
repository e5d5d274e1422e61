import type { Kysely } from 'kysely';

/** The branches and tags that a conversation has made at its repository, which it may rewrite and delete. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('made_refs')
    .addColumn('conversation', 'integer', (c) =>
      c.notNull().references('conversations.key').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('made_refs_pk', ['conversation', 'name'])
    .execute();
}

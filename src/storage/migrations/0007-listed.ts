import { type Kysely, sql } from 'kysely';

/** Finds a user's conversations of a repository, and those that were not begun by hand, without looking at the others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('conversations_of_repository')
    .on('conversations')
    .columns(['user_id', 'selected_repository', 'key'])
    .where(sql.ref('selected_repository'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('conversations_triggered')
    .on('conversations')
    .columns(['user_id', 'trigger_kind', 'key'])
    .where(sql.ref('trigger_kind'), '<>', sql.lit('gui'))
    .execute();
}

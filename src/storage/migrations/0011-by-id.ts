import { type Kysely, sql } from 'kysely';

/**
 * Finds a conversation by how its id ends: ids that are made here end in their time, so that those made together lie side
 * by side. Found by user and id, each new one had a page of its own to be written, nearly half of all it wrote. That
 * was a constraint, which SQLite takes from a table only by making the table anew.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ type: string; sql: string }>`
    select type, sql from sqlite_schema where tbl_name = 'conversations' and sql is not null`.execute(db);
  const run = (text: string) => sql.raw(text).execute(db);
  for (const table of rows.filter(({ type }) => type === 'table')) {
    await run(
      table.sql
        .replace('"conversations"', '"conversations_anew"')
        .replace(', constraint "conversations_user_id" unique ("user_id", "id")', ''),
    );
  }
  await run('insert into conversations_anew select * from conversations');
  // The numbers of those that were removed must not come back.
  await run(`delete from sqlite_sequence where name = 'conversations_anew'`);
  await run(`update sqlite_sequence set name = 'conversations_anew' where name = 'conversations'`);
  // What a key sealed that is replaced one day is not to stay in pages that nobody uses.
  await run('pragma secure_delete = on');
  await run('drop table conversations');
  await run('pragma secure_delete = off');
  await run('alter table conversations_anew rename to conversations');
  for (const kept of rows.filter(({ type }) => type !== 'table')) await run(kept.sql);
  await run('create unique index conversations_by_id on conversations (substr(id, -12), id, user_id)');
}

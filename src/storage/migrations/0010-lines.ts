import { type Kysely, sql } from 'kysely';

/**
 * How many of a user's conversations wait, which each new one asks: kept by the database itself whenever a row comes, goes
 * or changes. The numbers of all users lie on a few pages; an index of who waits, by user, has a page for each of them to
 * be written with every new conversation.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table lines (user_id text primary key, waiting integer not null) without rowid`.execute(
    db,
  );
  await sql`insert into lines select user_id, count(*) from conversations where wanted = 1 group by user_id`.execute(
    db,
  );
  await db.schema.dropIndex('conversations_wanted').execute();
  const row = { new: sql.ref('new.user_id'), old: sql.ref('old.user_id') };
  const more = sql`
    insert into lines values (${row.new}, 1) on conflict (user_id) do update set waiting = waiting + 1;`;
  const fewer = sql`update lines set waiting = waiting - 1 where user_id = ${row.old};`;
  await sql`create trigger lines_longer_by_insert after insert on conversations when new.wanted = 1
    begin ${more} end`.execute(db);
  await sql`create trigger lines_longer after update of wanted on conversations when new.wanted > old.wanted
    begin ${more} end`.execute(db);
  await sql`create trigger lines_shorter after update of wanted on conversations when new.wanted < old.wanted
    begin ${fewer} end`.execute(db);
  await sql`create trigger lines_shorter_by_delete after delete on conversations when old.wanted = 1
    begin ${fewer} end`.execute(db);
}

import { type Kysely, sql } from 'kysely';

/** The order in which conversations wait for their turn: a number that those have who wait or are driven. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('conversations').addColumn('turn', 'integer').execute();
  // Who waits was not noted before; their creation comes nearest to it.
  await sql`update conversations set turn = key where wanted = 1 or driver is not null`.execute(db);
  await db.schema
    .createIndex('conversations_turn')
    .on('conversations')
    .column('turn')
    .where(sql.ref('turn'), 'is not', null)
    .execute();
}

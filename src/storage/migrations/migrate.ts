import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { up as first } from './0001-first.ts';
import { up as audit } from './0002-audit.ts';
import { up as feedback } from './0003-feedback.ts';
import { up as turn } from './0004-turn.ts';
import { up as madeRefs } from './0005-made-refs.ts';
import { up as condensation } from './0006-condensation.ts';
import { up as listed } from './0007-listed.ts';
import { up as iterationsFrom } from './0008-iterations-from.ts';
import { up as atRest } from './0009-at-rest.ts';
import { up as lines } from './0010-lines.ts';
import { up as byId } from './0011-by-id.ts';

/** In order, each once. A released one is never changed. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first': { up: first },
  '0002-audit': { up: audit },
  '0003-feedback': { up: feedback },
  '0004-turn': { up: turn },
  '0005-made-refs': { up: madeRefs },
  '0006-condensation': { up: condensation },
  '0007-listed': { up: listed },
  '0008-iterations-from': { up: iterationsFrom },
  '0009-at-rest': { up: atRest },
  '0010-lines': { up: lines },
  '0011-by-id': { up: byId },
};

/** Whether this release has that migration. */
export function isKnownMigration(name: string): boolean {
  return Object.hasOwn(MIGRATIONS, name);
}

/** Thrown when the database was written by a later release; nothing was changed. */
export class DatabaseTooNew extends Error {
  override readonly name = 'DatabaseTooNew';
}

/** Brings the tables up to this release, in one transaction: all of it or nothing. @throws DatabaseTooNew */
export async function migrate(db: Kysely<unknown>): Promise<void> {
  // A table that is made anew takes along what refers to it, while foreign keys are in force; within a transaction they stay as they are.
  await sql`pragma foreign_keys = off`.execute(db);
  await migrateAtOnce(db);
  await sql`pragma foreign_keys = on`.execute(db);
}

async function migrateAtOnce(db: Kysely<unknown>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await refuseLaterRelease(transaction);
    const migrator = new Migrator({
      db: transaction,
      provider: { getMigrations: () => Promise.resolve({ ...MIGRATIONS }) },
    });
    const { error } = await migrator.migrateToLatest();
    if (error) throw error;
  });
}

async function refuseLaterRelease(db: Kysely<unknown>): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === 'kysely_migration')) return;
  const done = await (db as Kysely<{ kysely_migration: { name: string } }>)
    .selectFrom('kysely_migration')
    .select('name')
    .execute();
  const unknown = done.filter(({ name }) => !isKnownMigration(name)).map(({ name }) => name);
  if (unknown.length === 0) return;
  throw new DatabaseTooNew(
    `The database was written by a later release of Parley (it has ${unknown.join(', ')}, which this one does not know). ` +
      'Start that release, or restore a backup made by this one.',
  );
}

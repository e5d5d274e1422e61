import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { requestBinding } from '../conversations/request.ts';
import type { Binding, Sealed } from '../secrets/vault.ts';
import { settingsBinding } from '../settings/seals.ts';
import type { BoundSecret } from '../settings/store.ts';
import type { Schema } from './schema.ts';
import { openForWriting, SqliteKysely } from './sqlite.ts';
import { DATABASE_FILE } from './storage.ts';

/** Gives what a value is to be replaced by, or null where it may stay. */
export type Reseal = (sealed: Sealed, binding: Binding) => Sealed | null;

/** Conversations whose requests are replaced in one transaction. */
const PAGE = 50;

/**
 * Every sealed value of a data directory's database but the sentinel, offered once; `done` is told after each
 * transaction how many it replaced. Who dies in between begins again. What is replaced is overwritten in the file too.
 * No server may run.
 */
export async function resealDatabase(
  dataDir: string,
  reseal: Reseal,
  done: (replaced: number) => void,
): Promise<void> {
  const database = await openForWriting(join(dataDir, DATABASE_FILE));
  // Pages that are freed would keep what the former key opens.
  database.exec('pragma secure_delete = on');
  const db = new SqliteKysely<Schema>(database);
  try {
    for (const { user_id } of await db.selectFrom('settings').select('user_id').execute()) {
      done(await db.transaction().execute((open) => resealSettings(open, user_id, reseal)));
    }
    for (let after: number | null = 0; after !== null;) {
      const from: number = after;
      const page = await db.transaction().execute((open) => resealRequests(open, from, reseal));
      done(page.replaced);
      after = page.last;
    }
  } finally {
    await db.destroy();
  }
}

async function resealSettings(db: Kysely<Schema>, userId: string, reseal: Reseal): Promise<number> {
  const row = await db
    .selectFrom('settings')
    .select('secrets')
    .where('user_id', '=', userId)
    .executeTakeFirst();
  // Written by the store of settings.
  const secrets = JSON.parse(row?.secrets ?? '{}') as Record<string, BoundSecret>;
  let replaced = 0;
  for (const [path, { sealed, destination }] of Object.entries(secrets)) {
    const next = reseal(sealed, settingsBinding(userId, path, destination));
    if (next === null) continue;
    secrets[path] = { sealed: next, destination };
    replaced += 1;
  }
  if (replaced > 0) {
    await db
      .updateTable('settings')
      .set({ secrets: JSON.stringify(secrets) })
      .where('user_id', '=', userId)
      .execute();
  }
  return replaced;
}

async function resealRequests(
  db: Kysely<Schema>,
  after: number,
  reseal: Reseal,
): Promise<{ replaced: number; last: number | null }> {
  const keys = await db
    .selectFrom('conversations')
    .select('key')
    .where('key', '>', after)
    .orderBy('key')
    .limit(PAGE)
    .execute();
  let replaced = 0;
  for (const { key } of keys) {
    // One at a time: a request may be megabytes of images.
    const { id, user_id, request } = await db
      .selectFrom('conversations')
      .select(['id', 'user_id', 'request'])
      .where('key', '=', key)
      .executeTakeFirstOrThrow();
    const next = reseal(request as Sealed, requestBinding(user_id, id));
    if (next === null) continue;
    await db.updateTable('conversations').set({ request: next }).where('key', '=', key).execute();
    replaced += 1;
  }
  return { replaced, last: keys.at(-1)?.key ?? null };
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Remembered } from './remembered.ts';
import { openStorage, type Storage, type Stores } from './storage.ts';

const AT = '2026-01-01T00:00:00.000Z';

async function withKey(t: TestContext): Promise<{ storage: Storage; other: Storage }> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-remembered-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const [storage, other] = [await openStorage(directory), await openStorage(directory)];
  t.after(() => Promise.all([storage.close(), other.close()]));
  await storage.transact(async ({ keys }) => {
    await keys.addUser({ id: 'ann', name: 'ann', createdAt: AT, disabledAt: null });
    const key = { id: 'key', userId: 'ann', label: '', createdAt: AT };
    await keys.addKey({ ...key, expiresAt: null, revokedAt: null, lastUsedAt: null }, 'hash');
  });
  assert.equal((await storage.read.keys.findKey('hash'))?.revokedAt, null);
  return { storage, other };
}

test('a key that was looked up before counts no more as soon as it is revoked', async (t) => {
  const { storage } = await withKey(t);
  await storage.transact(({ keys }) => keys.revokeKey('key', AT));
  assert.equal((await storage.read.keys.findKey('hash'))?.revokedAt, AT);
  await storage.transact(({ keys }) => keys.restoreKey('key'));
  assert.equal((await storage.read.keys.findKey('hash'))?.revokedAt, null);
});

test('a look-up inside a transaction sees what the transaction did', async (t) => {
  const { storage } = await withKey(t);
  const seen = await storage.transact(async ({ keys }) => {
    await keys.revokeKey('key', AT);
    return await keys.findKey('hash');
  });
  assert.equal(seen?.revokedAt, AT);
});

test('what another process changes is seen in the next turn of the event loop', async (t) => {
  const { storage, other } = await withKey(t);
  await other.transact(({ keys }) => keys.disableUser('ann', AT));
  await nextTurn();
  assert.equal((await storage.read.keys.findKey('hash'))?.disabledAt, AT);
  await other.transact(({ keys }) => keys.removeUser('ann'));
  await nextTurn();
  assert.equal(await storage.read.keys.findKey('hash'), undefined);
});

test('a key that was unknown is found once it is made', async (t) => {
  const { storage } = await withKey(t);
  assert.equal(await storage.read.keys.findKey('other'), undefined);
  const key = { id: 'other', userId: 'ann', label: '', createdAt: AT };
  await storage.transact(({ keys }) =>
    keys.addKey({ ...key, expiresAt: null, revokedAt: null, lastUsedAt: null }, 'other'),
  );
  assert.equal((await storage.read.keys.findKey('other'))?.keyId, 'other');
});

test('a transaction sees the settings that another process has just stored, and none of a write that failed', async (t) => {
  const { storage, other } = await withKey(t);
  const store = (at: Storage, language: string) =>
    at.transact(({ settings }) => settings.save('ann', { document: { language }, secrets: {} }));
  const seen = async (): Promise<unknown> =>
    (await storage.transact(({ settings }) => settings.load('ann')))?.document['language'];

  await store(storage, 'en');
  assert.equal(await seen(), 'en');
  await store(other, 'de');
  assert.equal(await seen(), 'de');
  const failed = storage.transact(async ({ settings }) => {
    await settings.save('ann', { document: { language: 'fr' }, secrets: {} });
    throw new Error('no');
  });
  await assert.rejects(failed, /no/);
  assert.equal(await seen(), 'de');
});

test('a reader sees settings as soon as they are stored, and none of a write that failed', async (t) => {
  const { storage, other } = await withKey(t);
  const save = (language: string) => (stores: Stores) =>
    stores.settings.save('ann', { document: { language }, secrets: {} });
  const seen = async (): Promise<unknown> => (await storage.read.settings.load('ann'))?.document['language'];

  assert.equal(await seen(), undefined);
  const failed = storage.transact(async (stores) => {
    await save('fr')(stores);
    throw new Error('no');
  });
  await assert.rejects(failed, /no/);
  assert.equal(await seen(), undefined);
  await storage.transact(save('en'));
  assert.equal(await seen(), 'en');
  await storage.transact(save('de'));
  assert.equal(await seen(), 'de');
  await other.transact(save('it'));
  await nextTurn();
  assert.equal(await seen(), 'it');
});

test('as many rows are kept as asked for, and none that was read before a change', async (t) => {
  const database = new DatabaseSync(':memory:');
  t.after(() => database.close());
  const remembered = new Remembered<string>(database, 2);
  const reads: string[] = [];
  const read = (key: string) => () => {
    reads.push(key);
    return Promise.resolve(key);
  };
  for (const key of ['a', 'b', 'b', 'c', 'c', 'a']) await remembered.get(key, read(key));
  assert.deepEqual(reads, ['a', 'b', 'c', 'a']);

  const slow = Promise.withResolvers<string>();
  const asked = remembered.get('d', () => slow.promise);
  remembered.forget();
  slow.resolve('before the change');
  assert.equal(await asked, 'before the change');
  assert.equal(await remembered.get('d', () => Promise.resolve('after')), 'after');
});

import assert from 'node:assert/strict';
import type { ApiKey } from '../../src/auth/store.ts';
import { addUser, EARLY, type Facts, LATER, LATEST, type StoresUnderTest } from './stores.ts';

async function addKey(under: StoresUnderTest, userId: string, more: Partial<ApiKey> = {}): Promise<ApiKey> {
  const key: ApiKey = {
    id: 'key',
    userId,
    label: 'laptop',
    createdAt: EARLY,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    ...more,
  };
  await under.storage.transact(({ keys }) => keys.addKey(key, `hash of ${key.id}`));
  return key;
}

const session = { keyId: 'key', createdAt: EARLY, expiresAt: LATER };

export const keyStoreFacts: Facts = {
  'a user is found by the whole name': async (under) => {
    const id = await addUser(under, 'ann');
    const { keys } = under.storage.read;
    assert.deepEqual(await keys.findUser('ann'), { id, name: 'ann', createdAt: EARLY, disabledAt: null });
    for (const other of ['an', 'Ann', 'ann ', '%']) assert.equal(await keys.findUser(other), undefined);
  },

  'users are listed by name': async (under) => {
    for (const name of ['cat', 'ann', 'bob']) await addUser(under, name);
    const users = await under.storage.read.keys.listUsers();
    assert.deepEqual(
      users.map(({ name }) => name),
      ['ann', 'bob', 'cat'],
    );
  },

  'a second user of the same name is refused': async (under) => {
    await addUser(under, 'ann');
    const twin = { id: 'other', name: 'ann', createdAt: EARLY, disabledAt: null };
    await assert.rejects(under.storage.transact(({ keys }) => keys.addUser(twin)));
    assert.equal((await under.storage.read.keys.listUsers()).length, 1);
  },

  'a disabled user is seen as such wherever a credential is found, until enabled again': async (under) => {
    const { transact, read } = under.storage;
    const id = await addUser(under);
    await addUser(under, 'bob');
    await addKey(under, id);
    for (const at of [LATER, null]) {
      await transact(({ keys }) => keys.addSession('session', session));
      await transact(({ keys }) => keys.disableUser(id, at));
      assert.equal((await read.keys.findUser('ann'))?.disabledAt, at);
      assert.equal((await read.keys.findKey('hash of key'))?.disabledAt, at);
      assert.equal((await read.keys.findUser('bob'))?.disabledAt, null);
      assert.equal((await read.keys.findSession('session'))?.keyId, at === null ? 'key' : undefined);
    }
  },

  'a key is found by its hash, with all that decides whether it counts': async (under) => {
    const userId = await addUser(under);
    await addKey(under, userId, { expiresAt: LATER });
    await addKey(under, userId, { id: 'other' });
    const { keys } = under.storage.read;
    assert.deepEqual(await keys.findKey('hash of key'), {
      keyId: 'key',
      userId,
      userName: 'ann',
      disabledAt: null,
      expiresAt: LATER,
      revokedAt: null,
    });
    assert.equal(await keys.findKey('hash of nothing'), undefined);
    assert.equal(await keys.findKey('key'), undefined);
  },

  'a key of nobody, and a second one of the same hash, are refused': async (under) => {
    const userId = await addUser(under);
    const key = await addKey(under, userId);
    const { transact, read } = under.storage;
    await assert.rejects(
      transact(({ keys }) => keys.addKey({ ...key, id: 'b', userId: 'nobody' }, 'hash b')),
    );
    await assert.rejects(transact(({ keys }) => keys.addKey({ ...key, id: 'c' }, 'hash of key')));
    assert.equal((await read.keys.listKeys(userId)).length, 1);
  },

  "a user's keys are listed oldest first, and nobody else's": async (under) => {
    const ann = await addUser(under, 'ann');
    const bob = await addUser(under, 'bob');
    const second = await addKey(under, ann, { id: 'second', createdAt: LATER });
    const first = await addKey(under, ann, { id: 'first', expiresAt: LATEST });
    await addKey(under, bob, { id: "bob's" });
    assert.deepEqual(await under.storage.read.keys.listKeys(ann), [first, second]);
  },

  'a key is revoked once, and keeps the time of the first': async (under) => {
    const { transact, read } = under.storage;
    await addKey(under, await addUser(under));
    for (const at of [LATER, LATEST]) {
      assert.equal(await transact(({ keys }) => keys.revokeKey('key', at)), true);
      assert.equal((await read.keys.findKey('hash of key'))?.revokedAt, LATER);
    }
    assert.equal(await transact(({ keys }) => keys.revokeKey('nothing', LATER)), false);
  },

  'a revoked key can be restored': async (under) => {
    const { transact, read } = under.storage;
    const userId = await addUser(under);
    const keyIds = ['restored', 'revoked'];
    for (const id of keyIds) await addKey(under, userId, { id });
    for (const id of keyIds) await transact(({ keys }) => keys.revokeKey(id, LATER));
    await transact(({ keys }) => keys.restoreKey('restored'));
    assert.equal((await read.keys.findKey('hash of restored'))?.revokedAt, null);
    assert.equal((await read.keys.findKey('hash of revoked'))?.revokedAt, LATER);
  },

  'a removed user leaves no keys, sessions or settings, and others keep theirs': async (under) => {
    const { transact, read } = under.storage;
    const users = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    for (const userId of users) {
      await addKey(under, userId, { id: `key of ${userId}` });
      await transact(async ({ keys, settings }) => {
        await keys.addSession(`session of ${userId}`, { ...session, keyId: `key of ${userId}` });
        await settings.save(userId, { document: {}, secrets: {} });
      });
    }
    await transact(({ keys }) => keys.removeUser(users[0]!));
    for (const [index, userId] of users.entries()) {
      const stays = index === 1;
      assert.equal((await read.keys.listKeys(userId)).length === 1, stays);
      assert.equal((await read.keys.findKey(`hash of key of ${userId}`)) !== undefined, stays);
      assert.equal((await read.keys.findSession(`session of ${userId}`)) !== undefined, stays);
      assert.equal((await read.settings.load(userId)) !== undefined, stays);
    }
    assert.deepEqual(
      (await read.keys.listUsers()).map(({ name }) => name),
      ['bob'],
    );
  },

  'sessions end with their key, and others stay': async (under) => {
    const { transact, read } = under.storage;
    const userId = await addUser(under);
    await addKey(under, userId);
    await addKey(under, userId, { id: 'other' });
    await transact(({ keys }) => keys.addSession('ends', session));
    await transact(({ keys }) => keys.addSession('stays', { ...session, keyId: 'other' }));
    await transact(({ keys }) => keys.revokeKey('key', LATER));
    assert.equal(await read.keys.findSession('ends'), undefined);
    assert.equal((await read.keys.findSession('stays'))?.keyId, 'other');
  },

  'the last use of each key is kept': async (under) => {
    const { transact, read } = under.storage;
    const userId = await addUser(under);
    for (const id of ['a', 'b', 'c']) await addKey(under, userId, { id });
    const used = new Map([
      ['a', LATER],
      ['b', LATEST],
      ['gone', LATER],
    ]);
    await transact(({ keys }) => keys.touchKeys(used));
    const lastUse = (await read.keys.listKeys(userId)).map((key) => [key.id, key.lastUsedAt]);
    assert.deepEqual(
      new Map(lastUse as [string, string][]),
      new Map([...[...used].slice(0, 2), ['c', null]]),
    );
  },

  'a session counts until its own end or that of its key, whichever is first': async (under) => {
    const { transact, read } = under.storage;
    const userId = await addUser(under);
    const ends = { never: null, sooner: LATER, latest: LATEST };
    for (const [id, expiresAt] of Object.entries(ends)) {
      await addKey(under, userId, { id, expiresAt });
      for (const end of [LATER, LATEST]) {
        const opened = { keyId: id, createdAt: EARLY, expiresAt: end };
        await transact(({ keys }) => keys.addSession(`${id} ${end}`, opened));
        const found = await read.keys.findSession(`${id} ${end}`);
        assert.equal(found?.expiresAt, expiresAt === LATER ? LATER : end);
        assert.deepEqual({ ...found, expiresAt }, await read.keys.findKey(`hash of ${id}`));
      }
    }
  },

  'a session that was ended is gone, and one that is over goes when another is opened': async (under) => {
    const { transact, read } = under.storage;
    await addKey(under, await addUser(under));
    await transact(({ keys }) => keys.addSession('ended', session));
    await transact(({ keys }) => keys.addSession('over', session));
    await transact(({ keys }) => keys.endSession('ended'));
    assert.equal(await read.keys.findSession('ended'), undefined);
    assert.ok(await read.keys.findSession('over'));
    await transact(({ keys }) =>
      keys.addSession('new', { keyId: 'key', createdAt: LATEST, expiresAt: LATEST }),
    );
    assert.equal(await read.keys.findSession('over'), undefined);
    assert.ok(await read.keys.findSession('new'));
  },
};

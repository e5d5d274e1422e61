import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { NO_SANDBOX, type TestConversations, startConversations } from '../../test/support/conversations.ts';

describe('removing conversations', () => {
  let all: TestConversations;
  let discarded: number[];
  let broken: boolean;
  beforeEach(async () => {
    discarded = [];
    broken = false;
    const discard: (typeof NO_SANDBOX)['discard'] = ({ key }) => {
      if (broken) return Promise.reject(new Error('the disk says no'));
      discarded.push(key);
      return Promise.resolve();
    };
    all = await startConversations({ provider: { ...NO_SANDBOX, discard } });
  });
  afterEach(() => all.close());

  const create = async (id: string): Promise<number> => {
    await all.service.create(all.principal, { conversation_id: id, initial_user_msg: 'x' });
    await all.settled(id);
    return await all.service.keyOf(all.principal, id);
  };

  test('takes the workspace along, and is noted once, by whom', async () => {
    const key = await create('one');
    await all.service.remove(all.principal, 'one');
    await assert.rejects(all.service.remove(all.principal, 'one'), /no conversation/);
    assert.deepEqual(discarded, [key]);
    const [entry, ...more] = await all.storage.read.audit.list({ limit: 10 });
    assert.deepEqual(
      [entry?.action, entry?.subject, entry?.user, entry?.actor, more],
      ['conversation.deleted', 'one', 'default', 'key:key', []],
    );
  });

  test('is finished for those whose row is gone, and their watchers are told', async () => {
    const key = await create('one');
    const watcher = all.subscriptions.subscribe(key, 1_000);
    const ended = watcher.follow({ write: () => {}, hasRoom: () => true }, 1_000);
    await all.storage.transact(({ conversations }) => conversations.remove(key));
    await all.service.finishRemovals();
    assert.deepEqual(discarded, [key]);
    assert.equal(await ended, true);
    assert.deepEqual(await all.storage.read.conversations.removed(), []);
  });

  test('that fails keeps no other from being finished, and is not tried again at once', async () => {
    const key = await create('one');
    await all.storage.transact(({ conversations }) => conversations.remove(key));
    broken = true;
    await assert.rejects(all.service.finishRemovals(), /could not be removed/);
    await all.service.finishRemovals();
    broken = false;
    const second = await create('two');
    await all.storage.transact(({ conversations }) => conversations.remove(second));
    await all.service.finishRemovals();
    assert.deepEqual(discarded, [second]);
    assert.deepEqual(await all.storage.read.conversations.removed(), [key]);
  });

  test("of a disabled user does not happen: the conversations are stopped, and nobody else's", async () => {
    const bob = await all.addUser('bob');
    await create('one');
    await all.service.create(bob, { conversation_id: 'bobs' });
    await all.until('one', ({ status }) => status === 'RUNNING');
    await all.storage.transact(({ keys }) =>
      keys.disableUser(all.principal.userId, new Date().toISOString()),
    );
    await all.service.stopDisabled();
    assert.equal((await all.service.get(all.principal, 'one')).status, 'STOPPED');
    assert.notEqual((await all.service.get(bob, 'bobs')).status, 'STOPPED');
    assert.deepEqual(discarded, []);
  });
});

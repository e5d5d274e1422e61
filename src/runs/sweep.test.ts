import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConversations } from '../../test/support/conversations.ts';

test('what a crash on a full disk has left is taken up by itself when there is room again', async () => {
  const before = await startConversations();
  const begun = Promise.withResolvers<void>();
  before.agent = async ({ signal }) => {
    begun.resolve();
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { kind: 'aborted' };
  };
  await before.service.create(before.principal, { conversation_id: 'one', initial_user_msg: 'work' });
  await begun.promise;
  const from = await before.crash();

  const after = await startConversations({ from });
  let runs = 0;
  after.agent = () => {
    runs += 1;
    return Promise.resolve({ kind: 'waiting' });
  };
  after.full = true;
  const recovered = after.sweep.recover(new AbortController().signal);
  await assert.rejects(after.service.stop(after.principal, 'one'), { code: 'storage_unavailable' });
  assert.equal(runs, 0);
  after.full = false;
  await recovered;
  await after.settled('one');
  assert.equal(runs, 1);
  await after.close();
});

test('a conversation whose turn comes on a full disk is driven when there is room again', async () => {
  const all = await startConversations({ limits: { perUser: 0, total: 0 } });
  await all.service.create(all.principal, { conversation_id: 'one', initial_user_msg: 'work' });
  const key = await all.service.keyOf(all.principal, 'one');
  all.full = true;
  const driven = all.driver.drive(key);
  all.full = false;
  await driven;
  await all.settled('one');
  await all.close();
});

test('what is asked for before orphans are looked for is none of them', async () => {
  const here = await startConversations();
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  here.agent = async () => {
    begun.resolve();
    await end.promise;
    return { kind: 'waiting' };
  };
  await here.service.create(here.principal, { conversation_id: 'one', initial_user_msg: 'work' });
  await begun.promise;
  await here.sweep.recover(new AbortController().signal);
  assert.equal((await here.service.get(here.principal, 'one')).queued, false);
  end.resolve();
  await here.settled('one');
  await here.close();
});

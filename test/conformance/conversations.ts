import assert from 'node:assert/strict';
import type { Conversation, ConversationChange } from '../../src/conversations/store.ts';
import type { Sealed } from '../../src/secrets/vault.ts';
import { conversationDrivingFacts } from './conversation-driving.ts';
import { addSeveral, change, rowOf } from './conversation-steps.ts';
import { addConversation, addUser, EARLY, type Facts, newConversation, rejectsAs } from './stores.ts';

const rows: Facts = {
  'a new row is STARTING, wanted, driven by nobody, and found by its number and by its user and id': async (
    under,
  ) => {
    const userId = await addUser(under);
    const { request, ...given } = newConversation(userId, {
      selectedRepository: 'owner/name',
      selectedBranch: 'main',
      gitProvider: 'gitlab',
      trigger: 'suggested_task',
      request: 'v1.key.large' as Sealed,
      unfinished: false,
    });
    const key = await addConversation(under, { ...given, request });
    const expected: Conversation = {
      ...given,
      key,
      status: 'STARTING',
      runtimeStatus: null,
      error: null,
      updatedAt: given.createdAt,
      lastEventId: -1,
      generation: 0,
      driver: null,
      wanted: true,
      prepared: false,
      iterations: 0,
      iterationsFrom: 0,
      budgetFrom: 0,
      reserved: {},
      agentState: 'loading',
      accumulatedCost: 0,
      promptTokens: 0,
      completionTokens: 0,
      lastUserMessage: -1,
      condensation: -1,
    };
    const { conversations } = under.storage.read;
    assert.deepEqual(await conversations.get(key), expected);
    assert.deepEqual(await conversations.find(userId, given.id), expected);
    assert.equal(await conversations.request(key), request);
    assert.equal(await conversations.get(key + 1), undefined);
    assert.equal(await conversations.find(userId, 'other'), undefined);
    assert.equal(await conversations.find('nobody', given.id), undefined);
    await rejectsAs('ConversationGone', conversations.request(key + 1));
  },

  'an id is unique for its user, and free for others': async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const anns = await addConversation(under, { userId: ann, id: 'same' });
    const bobs = await addConversation(under, { userId: bob, id: 'same' });
    await assert.rejects(addConversation(under, { userId: ann, id: 'same' }));
    const { conversations } = under.storage.read;
    assert.equal((await conversations.find(ann, 'same'))?.key, anns);
    assert.equal((await conversations.find(bob, 'same'))?.key, bobs);
  },

  'the number of a removed conversation never comes back': async (under) => {
    const userId = await addUser(under);
    const first = await addConversation(under, { userId });
    await under.storage.transact(({ conversations }) => conversations.remove(first));
    assert.equal(await under.storage.read.conversations.get(first), undefined);
    const second = await addConversation(under, { userId });
    assert.ok(second > first);
  },

  'a list is newest first, of one user, and pages by number': async (under) => {
    const { userId, keys } = await addSeveral(under, 5);
    await addConversation(under, { userId: await addUser(under, 'bob') });
    const list = async (filter: { limit: number; before?: number }) =>
      (await under.storage.read.conversations.list(userId, filter)).map(({ key }) => key);
    const newestFirst = keys.toReversed();
    assert.deepEqual(await list({ limit: 10 }), newestFirst);
    assert.deepEqual(await list({ limit: 2 }), newestFirst.slice(0, 2));
    assert.deepEqual(await list({ limit: 2, before: newestFirst[1]! }), newestFirst.slice(2, 4));
    assert.deepEqual(await list({ limit: 2, before: newestFirst[3]! }), newestFirst.slice(4));
    assert.deepEqual(await list({ limit: 2, before: newestFirst[4]! }), []);
  },

  'a list can be of one repository, or of one trigger': async (under) => {
    const userId = await addUser(under);
    const [a, b] = ['owner/a', 'owner/b'];
    const first = await addConversation(under, { userId, id: '1', selectedRepository: a });
    const second = await addConversation(under, { userId, id: '2', selectedRepository: b, trigger: 'other' });
    await addConversation(under, { userId, id: '3' });
    const { conversations } = under.storage.read;
    const list = async (filter: { repository?: string; trigger?: string }) =>
      (await conversations.list(userId, { limit: 10, ...filter })).map(({ key }) => key);
    assert.deepEqual(await list({ repository: a }), [first]);
    assert.deepEqual(await list({ trigger: 'other' }), [second]);
    assert.deepEqual(await list({ repository: a, trigger: 'other' }), []);
  },

  'a change changes what it names, and nothing else': async (under) => {
    const key = await addConversation(under);
    const changes: ConversationChange[] = [
      { title: 'Other' },
      { status: 'ERROR' },
      { runtimeStatus: 'STATUS$ERROR' },
      { error: { code: 'sandbox_unavailable', message: 'It "broke"', hint: 'Mend it' } },
      { wanted: false },
      { unfinished: false },
      { prepared: true },
      { iterations: 7 },
      { iterationsFrom: 5 },
      { reserved: { 3: 0.25, 10: 1e-7 } },
      { budgetFrom: 1.25 },
      { selectedBranch: 'work' },
      { error: null, runtimeStatus: null, wanted: true, prepared: false, unfinished: true },
      {},
    ];
    let expected = await rowOf(under, key);
    for (const to of changes) {
      await change(under, key, to);
      const row = await rowOf(under, key);
      expected = { ...expected, ...to, updatedAt: row.updatedAt };
      assert.deepEqual(row, expected);
      assert.ok(row.updatedAt > EARLY);
    }
  },

  'a change of a row that is not there is refused': async (under) => {
    const key = await addConversation(under);
    await rejectsAs('ConversationGone', change(under, key + 1, { title: 'x' }));
    await rejectsAs('ConversationGone', change(under, key + 1, { title: 'x' }, 0));
  },
};

const removal: Facts = {
  'the workspace of a removed conversation is remembered until it is discarded': async (under) => {
    const { keys } = await addSeveral(under, 3);
    const { transact, read } = under.storage;
    assert.deepEqual(await read.conversations.removed(), []);
    for (const key of keys.slice(0, 2)) await transact(({ conversations }) => conversations.remove(key));
    assert.deepEqual(await read.conversations.removed(), keys.slice(0, 2));
    await transact(({ conversations }) => conversations.discarded(keys[0]!));
    assert.deepEqual(await read.conversations.removed(), keys.slice(1, 2));
  },

  'a removed conversation can be removed again': async (under) => {
    const { keys } = await addSeveral(under, 2);
    const [key, other] = keys as [number, number];
    const { transact, read } = under.storage;
    await transact(({ conversations }) => conversations.remove(key));
    await transact(({ conversations }) => conversations.remove(key));
    assert.equal(await read.conversations.get(key), undefined);
    assert.ok(await read.conversations.get(other));
  },
};

export const conversationStoreFacts: Facts = { ...rows, ...conversationDrivingFacts, ...removal };

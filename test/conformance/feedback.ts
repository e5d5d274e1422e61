import assert from 'node:assert/strict';
import type { Feedback } from '../../src/feedback/feedback.ts';
import { addConversation, addUser, type Facts, rejectsAs } from './stores.ts';

const GOOD: Feedback = {
  polarity: 'positive',
  permissions: 'public',
  email: 'ann@example.com',
  version: '1.0',
};
const NONE: Feedback = { polarity: null, permissions: 'private', email: '', version: '' };

export const feedbackStoreFacts: Facts = {
  'what was added is read back in its order, with whose and of what it is': async (under) => {
    const key = await addConversation(under);
    const { transact, read } = under.storage;
    const ids = await transact(async ({ feedback }) => [
      await feedback.add(key, GOOD),
      await feedback.add(key, NONE),
    ]);
    const listed = await read.feedback.list({ limit: 10 });
    const of = { user: 'ann', conversation: 'first', lastEventId: -1 };
    assert.deepEqual(
      listed.map(({ at: _at, ...rest }) => rest),
      [
        { id: ids[0], ...of, ...GOOD },
        { id: ids[1], ...of, ...NONE },
      ],
    );
    assert.ok(listed.every(({ at }) => !Number.isNaN(Date.parse(at))));
  },

  'it goes with its conversation, and cannot be added to one that is gone': async (under) => {
    const key = await addConversation(under);
    const { transact, read } = under.storage;
    await transact(({ feedback }) => feedback.add(key, GOOD));
    await transact(({ conversations }) => conversations.remove(key));
    assert.deepEqual(await read.feedback.list({ limit: 10 }), []);
    await rejectsAs(
      'ConversationGone',
      transact(({ feedback }) => feedback.add(key, GOOD)),
    );
  },

  'a page begins after an entry, or at a time': async (under) => {
    const userId = await addUser(under);
    const keys = [
      await addConversation(under, { userId }),
      await addConversation(under, { userId, id: 'b' }),
    ];
    const { transact, read } = under.storage;
    await transact(async ({ feedback }) => {
      for (let n = 0; n < 5; n += 1) await feedback.add(keys[n % 2] ?? 0, GOOD);
    });
    const all = await read.feedback.list({ limit: 10 });
    assert.equal(all.length, 5);
    const paged = [];
    for (let after = 0; ; after = paged.at(-1)?.id ?? 0) {
      const page = await read.feedback.list({ after, limit: 2 });
      if (page.length === 0) break;
      paged.push(...page);
    }
    assert.deepEqual(paged, all);
    const later = new Date(Date.parse(all[0]?.at ?? '') + 60_000).toISOString();
    assert.deepEqual(await read.feedback.list({ since: later, limit: 10 }), []);
    assert.equal((await read.feedback.list({ since: all[0]?.at ?? '', limit: 10 })).length, 5);
  },
};

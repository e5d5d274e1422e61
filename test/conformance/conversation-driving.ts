import assert from 'node:assert/strict';
import { stateChanged, userMessage } from '../../src/events/build.ts';
import type { Event } from '../../src/events/event.ts';
import { EMPTY_PROJECTION, project } from '../../src/events/projection.ts';
import { addSeveral, change, claim, fence, release, rowOf, say } from './conversation-steps.ts';
import { addConversation, addUser, type Facts, LATER, newConversation, rejectsAs } from './stores.ts';

/** Who drives a conversation, who waits, and what of them is stale. */
export const conversationDrivingFacts: Facts = {
  'one of many that claim gets it, with a new generation': async (under) => {
    const key = await addConversation(under);
    const claims = await Promise.all(['a', 'b', 'c', 'd'].map((driver) => claim(under, key, driver)));
    const [got, ...more] = claims.filter((one) => one !== undefined);
    assert.deepEqual(more, []);
    assert.deepEqual(await rowOf(under, key), got);
    assert.deepEqual([got?.generation, got?.wanted], [1, false]);
    assert.ok(got?.driver && 'abcd'.includes(got.driver));
  },

  'what nobody wants, and what is not there, is not to be claimed': async (under) => {
    const key = await addConversation(under);
    await change(under, key, { wanted: false });
    assert.equal(await claim(under, key), undefined);
    assert.equal(await claim(under, key + 1), undefined);
    assert.equal((await rowOf(under, key)).generation, 0);
  },

  'what is driven is not claimed, however much it is wanted, until released': async (under) => {
    const key = await addConversation(under);
    await claim(under, key);
    await change(under, key, { wanted: true });
    assert.equal(await claim(under, key, 'other'), undefined);
    assert.equal(await release(under, key, 1, -1), true);
    await change(under, key, { wanted: true });
    assert.equal((await claim(under, key, 'other'))?.generation, 2);
  },

  'writes of a generation that no longer drives are refused, and change nothing': async (under) => {
    const key = await addConversation(under);
    await claim(under, key);
    await change(under, key, { title: 'Mine' }, 1);
    const generation = await fence(under, key);
    const fenced = await rowOf(under, key);
    assert.deepEqual([fenced.driver, fenced.wanted, fenced.title], [null, false, 'Mine']);
    assert.equal(fenced.generation, generation);
    assert.ok(generation > 1);
    await rejectsAs('ConversationGone', fence(under, key + 1));
    await rejectsAs('Fenced', change(under, key, { title: 'Late' }, 1));
    await rejectsAs('Fenced', release(under, key, 1, -1));
    const append = under.storage.transact(({ events }) => events.append(key, [stateChanged('finished')], 1));
    await rejectsAs('Fenced', append);
    assert.deepEqual(await rowOf(under, key), fenced);
  },

  'a run ends when it has seen all that its user said': async (under) => {
    for (const unfinished of [true, false]) {
      const userId = await addUser(under, `user ${unfinished}`);
      const key = await addConversation(under, { userId });
      await say(under, key);
      await claim(under, key);
      await under.storage.transact(({ events }) => events.append(key, [stateChanged('running')], 1));
      assert.equal(await release(under, key, 1, 0, unfinished), true);
      const { driver, wanted, generation, unfinished: left } = await rowOf(under, key);
      assert.deepEqual([driver, wanted, generation, left], [null, false, 1, unfinished]);
    }
  },

  'a run goes on when its user has asked for an action, unless one awaits a decision first': async (
    under,
  ) => {
    const { keys } = await addSeveral(under, 2);
    const [key, other] = keys as [number, number];
    const { transact } = under.storage;
    const set = (id: number, eventId: number, state: 'recorded' | 'asked' | 'awaiting') =>
      transact(({ openActions }) => openActions.set(id, eventId, state));
    for (const one of [key, other]) await transact(({ conversations }) => conversations.claim(one, 'here'));
    await set(key, 7, 'recorded');
    await set(key, 8, 'asked');
    assert.equal(await release(under, other, 1, -1), true, "another's does not count");
    assert.equal(await release(under, key, 1, -1), false);
    assert.equal((await rowOf(under, key)).driver, 'here');
    await set(key, 6, 'awaiting');
    assert.equal(await release(under, key, 1, -1), true);
  },

  'a run goes on when its user said something it has not seen': async (under) => {
    const key = await addConversation(under);
    await say(under, key);
    await claim(under, key);
    await say(under, key);
    const before = await rowOf(under, key);
    assert.equal(await release(under, key, 1, 0), false);
    assert.deepEqual(await rowOf(under, key), before);
    assert.equal(await release(under, key, 1, 1), true);
  },

  'a message and the end of a run never miss each other': async (under) => {
    const { keys } = await addSeveral(under, 10);
    for (const [n, key] of keys.entries()) {
      await claim(under, key);
      const message = () =>
        under.storage.transact(async ({ events, conversations }) => {
          await events.append(key, [userMessage('hello')]);
          const row = await conversations.get(key);
          if (row?.driver === null) await conversations.change(key, { wanted: true });
        });
      const writes = [message, () => release(under, key, 1, -1)];
      if (n % 2 === 1) writes.reverse();
      await Promise.all(writes.map((write) => write()));
      const { driver, wanted } = await rowOf(under, key);
      // Still driven, or wanted again: in both cases somebody will deal with the message.
      assert.notEqual(driver === null, !wanted);
    }
  },

  'the end of a run of a conversation that is gone says so': async (under) => {
    const key = await addConversation(under);
    await claim(under, key);
    await under.storage.transact(({ conversations }) => conversations.remove(key));
    await rejectsAs('ConversationGone', release(under, key, 1, -1));
  },

  'what is driven and what waits is known, oldest first': async (under) => {
    const { userId, keys } = await addSeveral(under, 5);
    const [driven, waiting, done, stopped, both] = keys as [number, number, number, number, number];
    for (const key of [driven, done, stopped, both]) await claim(under, key);
    await release(under, done, 1, -1);
    await fence(under, stopped);
    await change(under, both, { wanted: true });
    const { conversations } = under.storage.read;
    assert.deepEqual(await conversations.driven(), [
      { key: driven, userId, generation: 1 },
      { key: both, userId, generation: 1 },
    ]);
    assert.deepEqual(await conversations.waiting(), [{ key: waiting, userId }]);
  },

  'who waits is served in the order of waiting, not of creation': async (under) => {
    const { userId, keys } = await addSeveral(under, 4);
    const [a, b, c, d] = keys as [number, number, number, number];
    for (const key of keys) await claim(under, key);
    const waiting = async () =>
      (await under.storage.read.conversations.waiting()).map((hint) => {
        assert.equal(hint.userId, userId);
        return hint.key;
      });
    for (const key of [a, b, c]) await release(under, key, 1, -1);
    for (const key of [c, a]) await change(under, key, { wanted: true });
    assert.deepEqual(await waiting(), [c, a]);
    // Who asks again keeps the place; who was not waiting comes last.
    await change(under, c, { wanted: true });
    const e = await addConversation(under, { userId, id: 'later' });
    await change(under, b, { wanted: true });
    assert.deepEqual(await waiting(), [c, a, e, b]);
    // Who was being driven when the process died had its turn before all of them.
    await change(under, d, { wanted: true });
    await under.storage.transact(({ conversations }) => conversations.requeue(d, 1));
    assert.deepEqual(await waiting(), [d, c, a, e, b]);
    // A stop gives the place up.
    await fence(under, c);
    await change(under, c, { wanted: true });
    await change(under, a, { wanted: false });
    assert.deepEqual(await waiting(), [d, e, b, c]);
  },

  'a run that is no more is wanted again, once, for a new generation': async (under) => {
    const { keys } = await addSeveral(under, 2);
    const [key, other] = keys as [number, number];
    const requeue = (generation: number) =>
      under.storage.transact(({ conversations }) => conversations.requeue(key, generation));
    assert.equal(await requeue(0), false);
    await claim(under, key);
    await claim(under, other);
    assert.equal(await requeue(0), false);
    assert.equal(await requeue(1), true);
    assert.equal(await requeue(1), false);
    assert.equal((await rowOf(under, other)).driver, 'me');
    assert.equal((await claim(under, key))?.generation, 2);
    assert.equal(await requeue(1), false);
    await rejectsAs('Fenced', change(under, key, { title: 'Late' }, 1));
  },

  'what waits is counted for each user': async (under) => {
    const ann = await addSeveral(under, 3);
    const bob = await addSeveral(under, 1, { userId: await addUser(under, 'bob') });
    await claim(under, ann.keys[0]!);
    const { conversations } = under.storage.read;
    assert.equal(await conversations.countWaiting(ann.userId), 2);
    assert.equal(await conversations.countWaiting(bob.userId), 1);
    assert.equal(await conversations.countWaiting('nobody'), 0);
  },

  'a transaction counts what waits as it is then, whatever came before': async (under) => {
    const { userId, keys } = await addSeveral(under, 2);
    const [first, second] = keys as [number, number];
    const { transact } = under.storage;
    const counted = () => transact(({ conversations }) => conversations.countWaiting(userId));
    const steps: [waiting: number, () => Promise<unknown>][] = [
      [2, () => Promise.resolve()],
      [3, () => addConversation(under, { userId, id: 'third' })],
      [2, () => claim(under, first)],
      [3, () => transact(({ conversations }) => conversations.requeue(first, 1))],
      [2, () => transact(({ conversations }) => conversations.fence(first))],
      [3, () => change(under, first, { wanted: true })],
      [2, () => change(under, first, { wanted: false })],
      [
        2,
        () =>
          assert.rejects(
            transact(async ({ conversations }) => {
              await conversations.insert(newConversation(userId, { id: 'none' }));
              throw new Error('not stored');
            }),
          ),
      ],
      [1, () => transact(({ conversations }) => conversations.remove(second))],
    ];
    for (const [n, [waiting, step]] of steps.entries()) {
      await step();
      assert.equal(await counted(), waiting, `after step ${n}`);
    }
  },

  'a conversation begins with its first events, and its row says what they make of it': async (under) => {
    const userId = await addUser(under);
    const first = [stateChanged('loading'), userMessage('Hello.', [])];
    const key = await under.storage.transact(({ conversations }) =>
      conversations.insert(newConversation(userId), first),
    );
    const read = await under.storage.read.events.read(key, { from: 0, limit: 10, maxBytes: 10_000 });
    const events = read.map(({ json }) => JSON.parse(json) as Event);
    assert.equal(events.length, first.length);
    for (const [id, event] of first.entries()) assert.partialDeepStrictEqual(events[id], { id, ...event });
    const { lastEventId, ...row } = await rowOf(under, key);
    assert.equal(lastEventId, 1);
    const { agentState, lastUserMessage, accumulatedCost, condensation } = events.reduce(
      project,
      EMPTY_PROJECTION,
    );
    assert.partialDeepStrictEqual(row, { agentState, lastUserMessage, accumulatedCost, condensation });
    const { conversations } = under.storage.read;
    assert.equal(await conversations.lastUserMessage(key), lastUserMessage);
    assert.equal(await conversations.lastUserMessage(key + 1), -1);
  },

  'those of disabled users are found while they start or run': async (under) => {
    const { keys } = await addSeveral(under, 3);
    const [starting, running, stopped] = keys as [number, number, number];
    await change(under, running, { status: 'RUNNING' });
    await change(under, stopped, { status: 'STOPPED' });
    const bob = await addUser(under, 'bob');
    await addConversation(under, { userId: bob });
    const { conversations } = under.storage.read;
    assert.deepEqual(await conversations.ofDisabledUsers(), []);
    const { userId } = await rowOf(under, starting);
    await under.storage.transact(({ keys }) => keys.disableUser(userId, LATER));
    assert.deepEqual(await conversations.ofDisabledUsers(), [starting, running]);
  },

  'idle are those that are ready, driven and wanted by nobody, and untouched since': async (under) => {
    const { keys } = await addSeveral(under, 5);
    const [second, first, driven, wanted, starting] = keys as [number, number, number, number, number];
    for (const key of keys) await claim(under, key);
    for (const key of [first, second, wanted, starting]) await release(under, key, 1, -1);
    for (const key of [first, driven, wanted, second]) {
      await change(under, key, { status: 'RUNNING' });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await change(under, wanted, { wanted: true });
    const { conversations } = under.storage.read;
    const future = '2999-01-01T00:00:00.000Z';
    assert.deepEqual(await conversations.idle(future, 10), [first, second]);
    assert.deepEqual(await conversations.idle(future, 1), [first]);
    const since = (await rowOf(under, second)).updatedAt;
    assert.deepEqual(await conversations.idle(since, 10), [first]);
  },

  'untouched are those that are stopped, driven and wanted by nobody, and untouched since': async (under) => {
    const { keys } = await addSeveral(under, 5);
    const [first, second, driven, wanted, running] = keys as [number, number, number, number, number];
    for (const key of keys) await claim(under, key);
    for (const key of [first, second, wanted, running]) await release(under, key, 1, -1);
    for (const key of [first, driven, wanted, second]) {
      await change(under, key, { status: 'STOPPED' });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await change(under, running, { status: 'RUNNING' });
    await change(under, wanted, { wanted: true });
    const { conversations } = under.storage.read;
    const future = '2999-01-01T00:00:00.000Z';
    assert.deepEqual(await conversations.untouched(future, 0, 10), [first, second]);
    assert.deepEqual(await conversations.untouched(future, first, 10), [second]);
    assert.deepEqual(await conversations.untouched(future, 0, 1), [first]);
    const since = (await rowOf(under, second)).updatedAt;
    assert.deepEqual(await conversations.untouched(since, 0, 10), [first]);
  },
};

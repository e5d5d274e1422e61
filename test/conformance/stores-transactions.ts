import assert from 'node:assert/strict';
import { userMessage } from '../../src/events/build.ts';
import { addConversation, addUser, EARLY, type Facts } from './stores.ts';

const user = (name: string) => ({ id: name, name, createdAt: EARLY, disabledAt: null });

export const transactionFacts: Facts = {
  'what was resolved is there to read': async ({ storage }) => {
    const given = await storage.transact(async ({ meta }) => {
      await meta.set('name', 'value');
      return 42;
    });
    assert.equal(given, 42);
    assert.equal(await storage.read.meta.get('name'), 'value');
    await storage.transact(({ meta }) => meta.set('name', 'new'));
    assert.equal(await storage.read.meta.get('name'), 'new');
    assert.equal(await storage.read.meta.get('other'), undefined);
  },

  'a transaction that throws stores nothing, and says why': async ({ storage }) => {
    const reason = new Error('thought better of it');
    const work = storage.transact(async ({ meta, keys }) => {
      await meta.set('a', '1');
      await keys.addUser(user('ann'));
      throw reason;
    });
    await assert.rejects(work, reason);
    assert.equal(await storage.read.meta.get('a'), undefined);
    assert.deepEqual(await storage.read.keys.listUsers(), []);
  },

  'a transaction that throws takes nothing of its neighbours along': async ({ storage }) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) =>
        storage.transact(async ({ keys }) => {
          await keys.addUser(user(`user ${index}`));
          if (index % 3 === 1) throw new Error('no');
          // Fails in the database itself.
          if (index % 3 === 2) await keys.addUser(user('user 0'));
        }),
      ),
    );
    for (const [index, { status }] of outcomes.entries()) {
      assert.equal(status, index % 3 === 0 ? 'fulfilled' : 'rejected');
    }
    const stored = (await storage.read.keys.listUsers()).map(({ id }) => id);
    assert.deepEqual(stored.sort(), Array.from({ length: 10 }, (_, n) => `user ${n * 3}`).sort());
  },

  'a transaction sees what it wrote, and others see it only when it is done': async ({ storage }) => {
    await storage.transact(async ({ meta }) => {
      await meta.set('a', '1');
      assert.equal(await meta.get('a'), '1');
      assert.equal(await storage.read.meta.get('a'), undefined);
    });
    assert.equal(await storage.read.meta.get('a'), '1');
  },

  'transactions come one after the other: none loses what another wrote': async ({ storage }) => {
    const increment = () =>
      storage.transact(async ({ meta }) => {
        const before = Number((await meta.get('count')) ?? '0');
        await meta.set('count', String(before + 1));
        return before;
      });
    const seen = await Promise.all(Array.from({ length: 40 }, increment));
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      Array.from({ length: 40 }, (_, n) => n),
    );
    assert.equal(await storage.read.meta.get('count'), '40');
  },

  'events are told of once they can be read, and never those that were taken back': async (under) => {
    const userId = await addUser(under);
    const [a, b] = [
      await addConversation(under, { userId, id: 'a' }),
      await addConversation(under, { userId, id: 'b' }),
    ];
    const { transact } = under.storage;
    const append = (key: number, text: string, fail = false) =>
      transact(async ({ events }) => {
        await events.append(key, [userMessage(text)]);
        if (fail) throw new Error('no');
        assert.ok(!under.committed.some(({ events: [event] }) => event?.json.includes(text)));
      });
    await Promise.allSettled([
      append(a, 'one'),
      append(a, 'never', true),
      append(b, 'two'),
      append(a, 'three'),
    ]);
    const told = under.committed.map(({ conversation, events }) => [
      conversation,
      events.map(({ id }) => id),
    ]);
    assert.deepEqual(told, [
      [a, [0]],
      [b, [0]],
      [a, [1]],
    ]);
    const read = await under.storage.read.events.read(a, { from: 0, limit: 10, maxBytes: 10_000 });
    const toldOfA = under.committed.filter(({ conversation }) => conversation === a);
    assert.deepEqual(
      read,
      toldOfA.flatMap(({ events }) => events),
    );
  },
};

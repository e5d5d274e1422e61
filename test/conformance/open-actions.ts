import assert from 'node:assert/strict';
import { addTwo, type Facts } from './stores.ts';

export const openActionStoreFacts: Facts = {
  'open actions are kept in the order of the log until they are closed': async (under) => {
    const [key, other] = await addTwo(under);
    const { transact, read } = under.storage;
    await transact(async ({ openActions }) => {
      await openActions.set(key, 12, 'recorded');
      await openActions.set(key, 3, 'awaiting');
      await openActions.set(key, 4, 'recorded');
      await openActions.set(other, 3, 'recorded');
    });
    await transact(({ openActions }) => openActions.set(key, 3, 'started'));
    assert.deepEqual(await read.openActions.of(key), [
      { eventId: 3, state: 'started' },
      { eventId: 4, state: 'recorded' },
      { eventId: 12, state: 'recorded' },
    ]);
    await transact(({ openActions }) => openActions.close(key, [3, 12, 99]));
    await transact(({ openActions }) => openActions.close(key, []));
    assert.deepEqual(await read.openActions.of(key), [{ eventId: 4, state: 'recorded' }]);
    assert.equal((await read.openActions.of(other)).length, 1);
  },

  'a removed conversation leaves none': async (under) => {
    const [key, other] = await addTwo(under);
    const { transact, read } = under.storage;
    await transact(({ openActions }) => openActions.set(key, 0, 'started'));
    await transact(({ openActions }) => openActions.set(other, 0, 'started'));
    await transact(({ conversations }) => conversations.remove(key));
    assert.deepEqual(await read.openActions.of(key), []);
    assert.equal((await read.openActions.of(other)).length, 1);
  },
};

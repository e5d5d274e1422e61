import assert from 'node:assert/strict';
import { addUser, EARLY, type Facts } from './stores.ts';

export const idempotencyStoreFacts: Facts = {
  'an idempotency key names the conversation it made, for its user and its time': async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const { transact, read } = under.storage;
    const save = (id: string, at: string) =>
      transact(({ idempotency }) => idempotency.save(ann, 'same', id, at));
    const find = (userId: string, after: string, key = 'same') => read.idempotency.find(userId, key, after);
    await save('made', '2026-01-02T00:00:00.000Z');
    assert.equal(await find(ann, '2026-01-01T00:00:00.000Z'), 'made');
    assert.equal(await find(ann, '2026-01-02T00:00:00.000Z'), undefined);
    assert.equal(await find(bob, EARLY), undefined);
    assert.equal(await find(ann, EARLY, 'other'), undefined);
    await save('made later', '2026-01-03T00:00:00.000Z');
    assert.equal(await find(ann, '2026-01-02T00:00:00.000Z'), 'made later');
  },
};

import assert from 'node:assert/strict';
import { addUser, type Facts } from './stores.ts';

export const experimentStoreFacts: Facts = {
  'an experiment is kept for an id of its user, before there is such a conversation': async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const { transact, read } = under.storage;
    for (const config of ['{"a":1}', '{"b":2}']) {
      await transact(({ experiments }) => experiments.save(ann, 'to come', config));
      assert.equal(await read.experiments.get(ann, 'to come'), config);
    }
    assert.equal(await read.experiments.get(bob, 'to come'), undefined);
    assert.equal(await read.experiments.get(ann, 'other'), undefined);
  },
};

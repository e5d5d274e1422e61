import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pace } from './pace.ts';

test('a burst goes at once, then each request waits for its turn', () => {
  let now = 5_000;
  const turn = pace({ perSecond: 10, burst: 3 }, () => now);
  assert.deepEqual([turn(), turn(), turn(), turn(), turn()], [0, 0, 0, 100, 200]);
  now += 200;
  assert.equal(turn(), 100);
});

test('who asks slowly never waits, and has its burst again after a rest', () => {
  let now = 0;
  const turn = pace({ perSecond: 10, burst: 2 }, () => now);
  for (let n = 0; n < 50; n += 1, now += 100) assert.equal(turn(), 0);
  now += 1_000;
  assert.deepEqual([turn(), turn(), turn()], [0, 0, 100]);
});

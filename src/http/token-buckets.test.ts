import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBuckets } from './token-buckets.ts';

test('a bucket lets a burst through, then says how long to wait', () => {
  let now = 0;
  const buckets = new TokenBuckets({ perSecond: 2, burst: 4, now: () => now });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => buckets.take('a')),
    [0, 0, 0, 0],
  );
  assert.equal(buckets.take('a'), 0.5);
  assert.equal(buckets.take('b'), 0);
  now = 0.5;
  assert.equal(buckets.take('a'), 0);
  assert.equal(buckets.take('a'), 0.5);
  now = 100;
  assert.deepEqual(
    [1, 2, 3, 4].map(() => buckets.take('a')),
    [0, 0, 0, 0],
  );
  assert.equal(buckets.take('a'), 0.5);
});

test('what is given back can be taken again, but never more than a burst', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1, now: () => 0 });
  buckets.restore('a');
  assert.equal(buckets.take('a'), 0);
  buckets.restore('a');
  buckets.restore('a');
  assert.equal(buckets.take('a'), 0);
  assert.equal(buckets.take('a'), 1);
});

test('of too many, the one not used for the longest time is forgotten', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1, max: 2, now: () => 0 });
  buckets.take('a');
  buckets.take('b');
  buckets.take('a');
  buckets.take('c');
  assert.equal(buckets.take('a'), 1, 'a was used later than b, and is remembered');
  assert.equal(buckets.take('b'), 0, 'b was forgotten');
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { listOf } from './list-of.ts';

/** A list of what a test counts the reading of. */
function counting() {
  const read: unknown[] = [];
  const entry = z.object({ n: z.int() }).transform(({ n }) => n);
  const shape = listOf(z.preprocess((given) => (read.push(given), given), entry));
  return { shape, read };
}

it('a list is read to its end when all of it is right', () => {
  const { shape } = counting();
  assert.deepEqual(shape.parse([{ n: 1 }, { n: 2 }]), [1, 2]);
  assert.deepEqual(shape.parse([]), []);
  assert.equal(shape.safeParse({ 0: { n: 1 } }).success, false);
});

it('a list is read up to what is wrong, and says where that is', () => {
  const { shape, read } = counting();
  const { error } = shape.safeParse([{ n: 1 }, { n: 'two' }, {}, {}]);
  assert.deepEqual(
    error?.issues.map(({ path }) => path),
    [[1, 'n']],
  );
  assert.equal(read.length, 2);
});

it('of a list that is longer than any is, nothing is read', () => {
  const { shape, read } = counting();
  const long = Array.from({ length: 20_001 }, () => ({ n: 1 }));
  assert.equal(shape.safeParse(long).error?.issues.length, 1);
  assert.equal(read.length, 0);
});

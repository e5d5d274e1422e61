import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InProcessQueue } from './queue.ts';

/** Drives that end when told to, in the order they began. */
function drives() {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  return {
    begun,
    drive: (key: number) => {
      begun.push(key);
      return new Promise<void>((resolve) => ends.set(key, resolve));
    },
    end: async (key: number) => {
      ends.get(key)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('five conversations of one user do not wait for five hundred of another', async () => {
  const { begun, drive, end } = drives();
  const queue = new InProcessQueue(drive, { perUser: 10, total: 11 });
  for (let key = 0; key < 500; key += 1) queue.offer({ key, userId: 'many' });
  for (let key = 1000; key < 1005; key += 1) queue.offer({ key, userId: 'few' });
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1000]);
  for (let key = 0; key < 8; key += 1) await end(key);
  assert.equal(begun.filter((key) => key >= 1000).length, 5, 'both take their turns');
});

test('within one user first come is first served, at most as many as are allowed', async () => {
  const { begun, drive, end } = drives();
  const queue = new InProcessQueue(drive, { perUser: 2, total: 10 });
  for (const key of [5, 3, 9, 1]) queue.offer({ key, userId: 'a' });
  assert.deepEqual(begun, [5, 3]);
  await end(3);
  assert.deepEqual(begun, [5, 3, 9]);
  await end(5);
  assert.deepEqual(begun, [5, 3, 9, 1]);
});

test('a hint twice is one drive, a hint during a drive is one more afterwards', async () => {
  const { begun, drive, end } = drives();
  const queue = new InProcessQueue(drive, { perUser: 1, total: 1 });
  queue.offer({ key: 1, userId: 'a' });
  queue.offer({ key: 2, userId: 'a' });
  queue.offer({ key: 2, userId: 'a' });
  queue.offer({ key: 1, userId: 'a' });
  queue.offer({ key: 1, userId: 'a' });
  await end(1);
  await end(2);
  await end(1);
  assert.deepEqual(begun, [1, 2, 1]);
});

test('who leaves the line does not wait, and comes last when it is there again, told that it waits', async () => {
  const { begun, drive, end } = drives();
  const told: number[] = [];
  const queue = new InProcessQueue(drive, { perUser: 1, total: 1 }, (key) => told.push(key));
  for (const key of [1, 2, 3]) queue.offer({ key, userId: 'a' });
  queue.offer({ key: 4, userId: 'b' });
  for (const key of [1, 2, 4, 5]) queue.withdraw(key);
  assert.equal(queue.waiting, 1, 'what is driven is not in the line');
  queue.offer({ key: 2, userId: 'a' });
  assert.deepEqual(told, [2, 3, 4, 2]);
  for (const key of [1, 3, 2]) await end(key);
  assert.deepEqual(begun, [1, 3, 2]);
});

test('who has to wait for a turn is told so, once for each wait', async () => {
  const { begun, drive, end } = drives();
  const told: number[] = [];
  const queue = new InProcessQueue(drive, { perUser: 1, total: 2 }, (key) => told.push(key));
  queue.offer({ key: 1, userId: 'a' });
  queue.offer({ key: 2, userId: 'a' });
  queue.offer({ key: 2, userId: 'a' });
  queue.offer({ key: 3, userId: 'b' });
  assert.deepEqual([begun, told], [[1, 3], [2]]);
  queue.offer({ key: 1, userId: 'a' });
  await end(1);
  assert.deepEqual(
    [begun, told],
    [
      [1, 3, 2],
      [2, 1],
    ],
  );
});

test('closing waits for what is driven and hands out nothing more', async () => {
  const { begun, drive, end } = drives();
  const queue = new InProcessQueue(drive, { perUser: 1, total: 1 });
  queue.offer({ key: 1, userId: 'a' });
  queue.offer({ key: 2, userId: 'a' });
  let closed = false;
  const closing = queue.close().then(() => (closed = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(closed, false);
  await end(1);
  await closing;
  assert.deepEqual(begun, [1]);
});

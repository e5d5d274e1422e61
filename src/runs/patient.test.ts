import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../errors.ts';
import type { Transact } from '../transact.ts';
import { patient } from './patient.ts';

const full = () => Promise.reject(new ServiceError('storage_unavailable', 'the disk is full'));

/** A store that fails as many times as it is told, then works. */
function failing(times: number): { transact: Transact<null>; tries: () => number } {
  let tries = 0;
  return {
    transact: (work) => {
      tries += 1;
      return tries <= times ? full() : work(null);
    },
    tries: () => tries,
  };
}

test('a write waits until it can be stored, and is made once', async () => {
  const { transact, tries } = failing(2);
  let made = 0;
  const write = patient(transact, new AbortController().signal, 1);
  assert.equal(await write(() => Promise.resolve((made += 1))), 1);
  assert.deepEqual([made, tries()], [1, 3]);
});

test('a write that is refused for another reason is not tried again', async () => {
  const { transact, tries } = failing(0);
  const reason = new Error('fenced');
  const refused = patient(transact, new AbortController().signal)(() => Promise.reject(reason));
  await assert.rejects(refused, reason);
  assert.equal(tries(), 1);
});

test('who is interrupted tries once more at once, and what can be stored then is', async () => {
  const { transact, tries } = failing(1);
  const abort = new AbortController();
  const written = patient(transact, abort.signal)(() => Promise.resolve('stored'));
  await new Promise((resolve) => setImmediate(resolve));
  abort.abort(new Error('stopped'));
  assert.deepEqual([await written, tries()], ['stored', 2]);
});

test('who is interrupted waits no longer', async () => {
  const { transact, tries } = failing(Number.POSITIVE_INFINITY);
  const abort = new AbortController();
  const reason = new Error('stopped');
  const written = patient(transact, abort.signal)(() => Promise.resolve());
  assert.equal(tries(), 1);
  await new Promise((resolve) => setImmediate(resolve));
  abort.abort(reason);
  await assert.rejects(written, reason);
  assert.equal(tries(), 2);
});

import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { test } from 'node:test';
import { TimeLimit } from './time-limit.ts';

const LONG_MS = 3_600_000;

test('it ends when the time is over, and says so', async () => {
  using limit = new TimeLimit(new AbortController().signal, 1);
  await once(limit.signal, 'abort');
  assert.equal(limit.isOver, true);
  assert.equal(limit.signal.reason.name, 'TimeoutError');
});

test('it ends with the given signal, for its reason', () => {
  const given = new AbortController();
  using limit = new TimeLimit(given.signal, LONG_MS);
  const reason = new Error('gone');
  given.abort(reason);
  assert.equal(limit.signal.reason, reason);
  assert.equal(limit.isOver, false);
  using late = new TimeLimit(given.signal, LONG_MS);
  assert.equal(late.signal.reason, reason);
});

test('nothing is left of one that was disposed of', () => {
  const { signal } = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const limit = new TimeLimit(signal, LONG_MS);
  assert.equal(timers(), before + 1);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  limit[Symbol.dispose]();
  assert.equal(timers(), before);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

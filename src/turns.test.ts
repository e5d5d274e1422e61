import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from './turns.ts';

const never = new AbortController().signal;

test('a user has a few places at a time; who waits is served in turn, others do not wait', async () => {
  const turns = new Turns(1);
  const first = await turns.take('ann', never);
  const order: string[] = [];
  const second = turns.take('ann', never).then((done) => (order.push('second'), done));
  const third = turns.take('ann', never).then((done) => (order.push('third'), done));
  (await turns.take('bob', never))();
  assert.deepEqual(order, []);
  first();
  first();
  const done = await second;
  assert.deepEqual(order, ['second']);
  done();
  (await third)();
  (await turns.take('ann', never))();
});

test('who has gone waits no more', async () => {
  const turns = new Turns(1);
  const first = await turns.take('ann', never);
  const gone = new AbortController();
  const waiting = turns.take('ann', gone.signal);
  gone.abort(new Error('gone'));
  await assert.rejects(waiting, /gone/);
  first();
  (await turns.take('ann', never))();
});

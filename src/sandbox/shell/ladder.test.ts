import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Ladder, type SignalName } from './ladder.ts';

function climbing(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stop = new AbortController();
  const sent: SignalName[] = [];
  const ladder = new Ladder(stop.signal, (name) => sent.push(name));
  let isExhausted = false;
  void ladder.exhausted.then(() => (isExhausted = true));
  const pass = async (ms: number): Promise<void> => {
    t.mock.timers.tick(ms);
    await Promise.resolve();
  };
  return { stop, sent, ladder, pass, isExhausted: () => isExhausted };
}

test('a command is told to end harder and harder, then it counts as unstoppable', async (t) => {
  const { sent, ladder, pass, isExhausted } = climbing(t);
  ladder.begin(1000);
  await pass(999);
  assert.deepEqual(sent, []);
  await pass(1);
  assert.deepEqual([ladder.cause, ...sent], ['timed_out', 'INT']);
  await pass(700);
  assert.deepEqual(sent, ['INT', 'TERM']);
  await pass(800);
  assert.deepEqual(sent, ['INT', 'TERM', 'KILL']);
  assert.equal(isExhausted(), false);
  await pass(1500);
  assert.equal(isExhausted(), true);
});

test('a stop before its time is over is told sooner, and its time no more', async (t) => {
  const { stop, sent, ladder, pass } = climbing(t);
  ladder.begin(100);
  stop.abort();
  await pass(150);
  assert.deepEqual([ladder.cause, ...sent], ['interrupted', 'INT', 'TERM']);
});

test('a process that was held up still gives the command time after each signal', async (t) => {
  const { stop, sent, pass, isExhausted } = climbing(t);
  stop.abort();
  await pass(10_000);
  assert.deepEqual(sent, ['INT', 'TERM']);
  await pass(10_000);
  assert.deepEqual(sent, ['INT', 'TERM', 'KILL']);
  assert.equal(isExhausted(), false);
  await pass(10_000);
  assert.equal(isExhausted(), true);
});

test('one that has ended is told nothing more', async (t) => {
  const { stop, sent, ladder, pass, isExhausted } = climbing(t);
  stop.abort();
  ladder.cancel();
  await pass(10_000);
  assert.deepEqual(sent, ['INT']);
  assert.equal(isExhausted(), false);
});

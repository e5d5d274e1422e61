import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cut, say, status, type Answer } from '../../test/support/model/answers.ts';
import { startModelServer } from '../../test/support/model/server.ts';
import { userText } from './message.ts';
import { resolveModel } from './resolve.ts';
import { withRetries } from './retries.ts';
import { modelStep } from './step.ts';

async function run(answers: Answer[], signal = new AbortController().signal, sleeping?: () => void) {
  await using server = await startModelServer(answers);
  const told: [number, number, string, number][] = [];
  const slept: number[] = [];
  const outcome = await withRetries(
    () =>
      modelStep({
        model: resolveModel({ name: 'scripted', baseUrl: server.baseUrl, apiKey: null }, fetch),
        system: 'You help.',
        messages: [userText('Hi')],
        tools: [],
        signal,
      }),
    signal,
    {
      onRetry: (n, of, { kind }, delay) => told.push([n, of, kind, delay]),
      async sleep(ms, aborted) {
        slept.push(ms);
        sleeping?.();
        aborted.throwIfAborted();
      },
    },
  );
  assert.deepEqual(
    slept,
    told.map(([, , , delay]) => delay),
  );
  return { outcome, told, slept, requests: server.requests.length };
}

test('tries again what may pass, says so each time, and gives the answer', async () => {
  const { outcome, told } = await run([status(503), cut(3), status(500), say('Here')]);
  assert.ok(outcome.ok && outcome.step.text === 'Here');
  assert.deepEqual(
    told.map(([n, of, kind]) => [n, of, kind]),
    [
      [2, 5, 'unavailable'],
      [3, 5, 'interrupted'],
      [4, 5, 'server_error'],
    ],
  );
});

test('waits longer each time, or as long as the provider says', async () => {
  const { slept } = await run([
    status(503),
    status(503),
    status(429, { 'retry-after': '11' }),
    status(503),
    say('x'),
  ]);
  const [first = 0, second = 0, third, fourth = 0] = slept;
  assert.ok(first >= 750 && first <= 1_250, String(first));
  assert.ok(second >= 1_500 && second <= 2_500, String(second));
  assert.equal(third, 11_000);
  assert.ok(fourth >= 6_000 && fourth <= 10_000, String(fourth));
});

test('gives up after five tries', async () => {
  const { outcome, requests } = await run(Array<Answer>(9).fill(status(503)));
  assert.equal(!outcome.ok && outcome.failure?.kind, 'unavailable');
  assert.equal(requests, 5);
});

test('does not try again what will not pass, nor wait for hours', async () => {
  for (const answer of [status(401), status(400), status(402), status(429, { 'retry-after': '3600' })]) {
    const { outcome, requests, slept } = await run([answer, say('no')]);
    assert.equal(outcome.ok, false);
    assert.deepEqual([requests, slept], [1, []]);
  }
});

test('an abort ends the wait with its reason', async () => {
  const leaving = new AbortController();
  const waiting = run([status(503), say('no')], leaving.signal, () => leaving.abort('stopped'));
  await assert.rejects(waiting, (reason) => reason === 'stopped');
});

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ExchangeDirectory, prepareRunDirectory } from './run-directory.ts';
import { Runners } from './runners.ts';

/** Runners whose supervisor is silent, but for what the test says in its place. */
async function silent(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'runners-'));
  await prepareRunDirectory(directory, null);
  const exchange = await ExchangeDirectory.open(directory, null);
  const [sent, broken]: [string[], string[]] = [[], []];
  const runners = new Runners(
    exchange,
    (line) => sent.push(line),
    (reason) => broken.push(reason),
  );
  t.after(async () => {
    await runners.close();
    await exchange.close();
    await rm(directory, { recursive: true, force: true });
  });
  return { runners, sent, broken };
}

test('a shell that makes no runner in time is broken', async (t) => {
  const { runners, sent, broken } = await silent(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const taken = runners.take();
  t.mock.timers.tick(9000);
  assert.deepEqual(broken, []);
  t.mock.timers.tick(2000);
  assert.deepEqual(broken, ['no new process could be started in it']);
  assert.match(sent.join('\n'), /^warm 1 [0-9a-f]{32}$/);
  t.mock.timers.reset();
  await runners.close();
  assert.equal(await taken, null);
});

test('a shell whose runners end before their command, one after the other, is broken', async (t) => {
  const { runners, sent, broken } = await silent(t);
  const taken = runners.take();
  // Warm, but without the FIFO that its command would go to.
  for (const number of [1, 2, 3]) {
    runners.warmed(number, 1000 + number);
    while (sent.length === number && broken.length === 0) await new Promise(setImmediate);
  }
  assert.equal(await taken, null);
  assert.equal(sent.length, 3);
  assert.deepEqual(broken, ['no new process could be started in it']);
});

test('a FIFO that is none breaks the shell', async (t) => {
  const { runners, broken } = await silent(t);
  void runners.take();
  runners.made(1);
  while (broken.length === 0) await new Promise(setImmediate);
  assert.deepEqual(broken, ['its shell was tampered with']);
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
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
  return { runners, sent, broken, directory };
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

test('a spare runner that ends while its FIFOs are being opened leaves none of them open', async (t) => {
  const { runners, directory } = await silent(t);
  const [output, command] = [join(directory, 'x', '1.out'), join(directory, 'x', '1.go')];
  execFileSync('mkfifo', [output, command]);
  const stopWork = keepThreadsBusy();
  t.after(stopWork);
  runners.prepareSpare();
  runners.made(1);
  openAndClose(output);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await stopWork();
  await runners.close();
  assert.deepEqual(await openBelow(directory), [join(directory, 'x')]);
});

/** Files are opened by threads: with many tasks before it, the opening takes longer than the news of an end. */
function keepThreadsBusy(): () => Promise<void> {
  const stop = new AbortController();
  const work = async (): Promise<void> => {
    while (!stop.signal.aborted) await promisify(pbkdf2)('a', 'b', 2000, 32, 'sha256');
  };
  const workers = Promise.all(Array.from({ length: 24 }, work));
  return async () => {
    stop.abort();
    await workers;
  };
}

/** As a supervisor that is killed right after it has begun: the output is at its end before anyone can read it. */
function openAndClose(fifo: string): void {
  for (;;) {
    try {
      return closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
    } catch (error) {
      // ENXIO until the reader, in a thread of its own, has opened it.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENXIO')) throw error;
    }
  }
}

/** Files below the directory that this process has open. */
async function openBelow(directory: string): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(links)).filter((link) => link.startsWith(directory));
}

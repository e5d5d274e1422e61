import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openFifo } from './fifo.ts';
import { lastWords } from './last-words.ts';

test('what lies unread when the time is over is read first', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'last-words-'));
  const path = join(directory, 'fifo');
  execFileSync('mkfifo', [path]);
  const reader = await openFifo(path, 'read');
  const writer = openSync(path, 'w');
  t.after(async () => {
    closeSync(writer);
    reader.destroy();
    await rm(directory, { recursive: true });
  });
  let said = '';
  reader.on('data', (chunk: Buffer) => (said += String(chunk)));
  await nextTurn();

  const waiting = lastWords([once(reader, 'close').then(() => undefined)]);
  writeSync(writer, 'farewell');
  holdUpTheEventLoop(500);
  await waiting;
  assert.equal(said, 'farewell');
});

function holdUpTheEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

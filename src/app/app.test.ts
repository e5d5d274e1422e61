import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../config.ts';
import type { SandboxProvider } from '../sandbox/sandbox.ts';
import { unavailable } from '../sandbox/unavailable.ts';
import { build } from './app.ts';

test('it answers while it still tries whether sandboxes can be had; then the log and /ready say it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-app-'));
  const opening = Promise.withResolvers<SandboxProvider>();
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const app = await build(readConfig({ PARLEY_DATA_DIR: dataDir, PORT: '0' }), log, {
    openSandboxes: () => opening.promise,
  });
  try {
    const url = await app.listen();
    assert.equal((await fetch(`${url}/alive`)).status, 200);
    const ready = fetch(`${url}/ready`);
    assert.doesNotMatch(lines.join(''), /no sandbox/);
    opening.resolve(unavailable('none', 'None is to be had.'));
    const answer = await ready;
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /None is to be had\./);
    assert.match(lines.join(''), /Conversations have no sandbox\. None is to be had\./);
  } finally {
    opening.resolve(unavailable('none', 'None is to be had.'));
    await app.close();
    await rm(dataDir, { recursive: true });
  }
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PATH = fileURLToPath(new URL('young-requests.ts', import.meta.url));

test('this Node knows what V8 is told: of what it does not know it complains, and goes on', () => {
  const tell = (told: string) => spawnSync(process.execPath, ['--eval', told], { encoding: 'utf8' });
  const ours = tell(`import(${JSON.stringify(PATH)}).then(({ keepRequestsYoung }) => keepRequestsYoung())`);
  assert.deepEqual([ours.status, ours.stdout, ours.stderr], [0, '', '']);
  const unknown = tell("require('node:v8').setFlagsFromString('--no-such-flag')");
  assert.equal(unknown.status, 0);
  assert.match(unknown.stdout + unknown.stderr, /unrecognized flag/);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { lives } from './owner.ts';

const statOf = async (pid: number): Promise<string[]> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
};

test('an owner that was killed lives no more, also while its parent has not asked how it ended', async (t) => {
  // What bash becomes knows nothing of the child, and never waits for it.
  const parent = spawn('bash', ['-c', `sleep 600 & exec sh -c 'echo $0; exec cat' $!`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(async () => {
    parent.stdin.end();
    await once(parent, 'exit');
  });
  const [printed] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(String(printed));
  const owner = { pid, startTime: (await statOf(pid))[19] ?? '', namespace: '', groups: [] };
  assert.equal(await lives(owner), true);
  assert.equal(await lives({ ...owner, startTime: '1' }), false);

  process.kill(pid, 'SIGKILL');
  while ((await statOf(pid))[0] !== 'Z') await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await lives(owner), false);
});

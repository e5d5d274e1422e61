import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { LeftBehind } from './left-behind.ts';
import { recordOwner } from './owner.ts';

describe('what killed services have left behind', () => {
  let top: string;
  beforeEach(async () => {
    top = await mkdtemp(join(tmpdir(), 'parley-left-'));
  });
  afterEach(() => rm(top, { recursive: true }));

  /** A run directory with a record of this process, changed as asked. */
  async function made(name: string, owner: Record<string, unknown> = {}): Promise<void> {
    const directory = join(top, name);
    await mkdir(join(directory, 'etc'), { recursive: true });
    await mkdir(join(directory, 'unconfined'), { recursive: true });
    await recordOwner(directory, []);
    const record = JSON.parse(await readFile(join(directory, 'owner.json'), 'utf8'));
    await writeFile(join(directory, 'owner.json'), JSON.stringify({ ...record, ...owner }));
  }
  const dead = () => ({ pid: spawnSync('true').pid });

  it('goes at the second look, and nothing of anybody who may live', async () => {
    await made('parley-0000000a', dead());
    await made('parley-7-0000000b', { startTime: 'of another process with this number' });
    await made('parley-0000000c');
    await made('parley-0000000d', { ...dead(), namespace: 'pid:[of another container]' });
    await made('parley-0000000e', dead());
    await made('parley-0000000f', dead());
    await made('parley-dr-abcdef', dead());
    await mkdir(join(top, 'parley-00000010'));
    await symlink(join(top, 'parley-0000000f'), join(top, 'parley-00000011'));
    const left = new LeftBehind(join(top, 'parley-0000000f'));
    const all = await readdir(top);
    await left.look();
    assert.deepEqual(await readdir(top), all);
    await made('parley-0000000e', dead());
    await left.look();
    const gone = ['parley-0000000a', 'parley-7-0000000b'];
    assert.deepEqual(
      await readdir(top),
      all.filter((name) => !gone.includes(name)),
    );
    await left.look();
    assert.equal((await readdir(top)).includes('parley-0000000e'), false);
  });
});

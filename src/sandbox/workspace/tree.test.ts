import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { type TreeEntry, walkTree } from './tree.ts';

describe('a walk over a workspace', () => {
  let top: string;
  let root: string;
  let left: string[];
  beforeEach(async () => {
    top = await mkdtemp(join(tmpdir(), 'parley-tree-'));
    root = join(top, 'workspace');
    await mkdir(root);
    left = [];
  });
  afterEach(() => rm(top, { recursive: true }));

  const walked = async (
    seen: (entry: TreeEntry) => Promise<void> = async () => {},
  ): Promise<[string, string, string][]> => {
    const all: [string, string, string][] = [];
    for await (const entry of walkTree(root, (path) => left.push(path))) {
      await seen(entry);
      all.push([entry.path, entry.kind, (await buffer(entry.content)).toString()]);
    }
    return all.toSorted(([a], [b]) => (a < b ? -1 : 1));
  };

  it('gives files, folders and links, each with what it holds', async () => {
    await mkdir(join(root, 'a/b'), { recursive: true });
    await mkdir(join(root, 'empty'));
    await writeFile(join(root, 'a/b/c.txt'), 'c');
    await symlink('../../../etc/passwd', join(root, 'out'));
    await symlink('a', join(root, 'in'));
    assert.deepEqual(await walked(), [
      ['a', 'directory', ''],
      ['a/b', 'directory', ''],
      ['a/b/c.txt', 'file', 'c'],
      ['empty', 'directory', ''],
      ['in', 'link', 'a'],
      ['out', 'link', '../../../etc/passwd'],
    ]);
    assert.deepEqual(left, []);
  });

  it('leaves FIFOs out and says so, without waiting for them', async () => {
    execFileSync('mkfifo', [join(root, 'fifo')]);
    assert.deepEqual(await walked(), []);
    assert.deepEqual(left, ['fifo']);
  });

  it('reads files whose names are no UTF-8', async () => {
    await writeFile(Buffer.concat([Buffer.from(`${root}/b`), Buffer.of(0xff), Buffer.from('d')]), 'broken');
    assert.deepEqual(await walked(), [['b\ufffdd', 'file', 'broken']]);
  });

  it('does not follow what is swapped for a link while it walks', async () => {
    await mkdir(join(top, 'outside'));
    await writeFile(join(top, 'outside/secret'), 'secret');
    await mkdir(join(root, 'd'));
    await writeFile(join(root, 'd/secret'), 'own');
    const all = await walked(async ({ path }) => {
      if (path !== 'd') return;
      await rename(join(root, 'd'), join(top, 'moved'));
      await symlink(join(top, 'outside'), join(root, 'd'));
    });
    assert.deepEqual(all.find(([path]) => path === 'd/secret')?.[2], 'own');
  });

  it('passes over what vanishes, and gives of a file that grows what it was at first', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(root, name), 'as it was');
    const seen: string[] = [];
    const all = await walked(async ({ path }) => {
      seen.push(path);
      await writeFile(join(root, path), 'as it was and more');
      if (seen.length > 1) return;
      for (const name of ['a', 'b', 'c']) if (name !== path) await unlink(join(root, name));
    });
    assert.deepEqual(all, [[seen[0], 'file', 'as it was']]);
  });

  it('leaves out what lies too deep, and what it may not read', async () => {
    await mkdir(join(root, 'x/'.repeat(120)), { recursive: true });
    assert.equal((await walked()).length, 99);
    assert.equal(left.length, 1);
    if (process.getuid?.() === 0) return;
    await writeFile(join(root, 'closed'), 'x');
    await chmod(join(root, 'closed'), 0);
    await walked();
    assert.ok(left.includes('closed'));
  });
});

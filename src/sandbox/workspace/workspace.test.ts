import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { FileResult } from '../workspace-files.ts';
import { openWorkspaceFiles } from './workspace.ts';
import type { WorkspaceOptions } from './workspace.ts';

async function workspace(t: TestContext, options: Partial<WorkspaceOptions> = {}) {
  const outer = await mkdtemp(join(tmpdir(), 'workspace-'));
  t.after(() => rm(outer, { recursive: true, force: true }));
  const root = join(outer, 'root');
  mkdirSync(root);
  const secret = join(outer, 'secret');
  writeFileSync(secret, 'secret');
  const drafts = join(outer, 'drafts');
  const files = openWorkspaceFiles(root, {
    mountedAt: '/workspace',
    drafts,
    owner: null,
    readOnly: false,
    ...options,
  });
  const read = async (path: string, most = 1000): Promise<string> => text(await files.read(path, most));
  const write = async (path: string, content: string) => why(await files.write(path, Buffer.from(content)));
  return { outer, root, secret, drafts, files, read, write };
}

const text = (result: FileResult<Uint8Array>): string =>
  result.ok ? Buffer.from(result.value).toString() : result.why;
const why = (result: FileResult<unknown>): string => (result.ok ? 'ok' : result.why);
const openFiles = (): number => readdirSync('/proc/self/fd').length;

test('a file is written whole, with its folders, and read back', async (t) => {
  const { root, read, write, files } = await workspace(t);
  assert.equal(await write('/workspace/a/b c/d.txt', 'one'), 'ok');
  assert.equal(await read('/workspace//a/./b c/d.txt'), 'one');
  assert.equal(readFileSync(join(root, 'a/b c/d.txt'), 'utf8'), 'one');
  assert.equal(await write('/workspace/empty', ''), 'ok');
  assert.equal(await read('/workspace/empty', 0), '');
  assert.deepEqual(await files.stat('/workspace/a/b c/d.txt'), {
    ok: true,
    value: { kind: 'file', size: 3 },
  });
});

test('what is not whole yet is not in the workspace, and what never will be stays nowhere', async (t) => {
  const { root, drafts, files } = await workspace(t);
  let half = '';
  const content = async function* (isWhole: boolean) {
    yield Buffer.from('half');
    yield Buffer.from('half');
    [half = ''] = readdirSync(drafts);
    assert.deepEqual(readdirSync(root), []);
    if (!isWhole) throw new Error('cut off');
  };
  await assert.rejects(files.write('/workspace/file', content(false)), /cut off/);
  assert.match(half, /^[0-9a-f]{32}$/);
  assert.deepEqual([readdirSync(root), readdirSync(drafts)], [[], []]);
  assert.equal(why(await files.write('/workspace/file', content(true))), 'ok');
  assert.deepEqual([readdirSync(root), readdirSync(drafts)], [['file'], []]);
});

test('replacing a file keeps its mode, but no set-user-id', async (t) => {
  const { root, write } = await workspace(t);
  writeFileSync(join(root, 'run'), 'x');
  chmodSync(join(root, 'run'), 0o4755);
  assert.equal(await write('/workspace/run', 'y'), 'ok');
  assert.equal(statSync(join(root, 'run')).mode & 0o7777, 0o755);
  assert.deepEqual(readdirSync(root), ['run']);
});

test('new files and folders belong to the owner', async (t) => {
  const owner = {
    uid: process.getuid?.() === 0 ? 12_345 : (process.getuid?.() ?? 0),
    gid: process.getgid?.() ?? 0,
  };
  const { root, write } = await workspace(t, { owner });
  assert.equal(await write('/workspace/a/b', 'x'), 'ok');
  assert.equal(statSync(join(root, 'a')).uid, owner.uid);
  assert.equal(statSync(join(root, 'a/b')).uid, owner.uid);
});

test('a read-only workspace is read, not written', async (t) => {
  const { root, read, write } = await workspace(t, { readOnly: true });
  writeFileSync(join(root, 'a'), 'x');
  assert.equal(await write('/workspace/a', 'y'), 'not_permitted');
  assert.equal(await write('/workspace/b/c', 'y'), 'not_permitted');
  assert.equal(await read('/workspace/a'), 'x');
});

test('a folder is listed up to a bound', async (t) => {
  const { root, files } = await workspace(t);
  mkdirSync(join(root, 'b'));
  writeFileSync(join(root, 'a'), '');
  symlinkSync('a', join(root, 'c'));
  assert.deepEqual(await files.list('/workspace', 10), {
    ok: true,
    value: [
      { name: 'a', kind: 'file' },
      { name: 'b', kind: 'directory' },
      { name: 'c', kind: 'other' },
    ],
  });
  const some = await files.list('/workspace/', 2);
  assert.equal(some.ok && some.value.length, 2);
  assert.equal(why(await files.list('/workspace/a', 2)), 'not_a_directory');
});

test('links inside are followed as the commands would follow them', async (t) => {
  const { root, read, write } = await workspace(t);
  mkdirSync(join(root, 'real/deep'), { recursive: true });
  writeFileSync(join(root, 'real/file'), 'x');
  symlinkSync('real/deep', join(root, 'relative'));
  symlinkSync('/workspace/real', join(root, 'absolute'));
  symlinkSync('../file', join(root, 'real/deep/up'));
  assert.equal(await read('/workspace/relative/up'), 'x');
  assert.equal(await read('/workspace/absolute/file'), 'x');
  // Behind a link, `..` is the parent of where it leads.
  assert.equal(await read('/workspace/relative/../file'), 'x');
  assert.equal(await write('/workspace/relative/up', 'y'), 'ok');
  assert.equal(readFileSync(join(root, 'real/file'), 'utf8'), 'y');
});

test('no path and no link leads out', async (t) => {
  const { outer, root, secret, read, write, files } = await workspace(t);
  symlinkSync(secret, join(root, 'absolute'));
  symlinkSync('../secret', join(root, 'relative'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync(outer, join(root, 'out'));
  symlinkSync('/proc/self/root', join(root, 'magic'));
  symlinkSync('/workspace/../etc', join(root, 'dots'));
  const paths = [
    'absolute',
    'relative',
    'up/secret',
    'out/secret',
    'magic/etc/passwd',
    'dots/passwd',
    '../secret',
    'a/../../secret',
  ];
  mkdirSync(join(root, 'a'));
  for (const path of paths) {
    assert.equal(await read(`/workspace/${path}`), 'outside_workspace', path);
    assert.equal(await write(`/workspace/${path}`, 'x'), 'outside_workspace', path);
    assert.equal(why(await files.stat(`/workspace/${path}`)), 'outside_workspace', path);
  }
  assert.equal(why(await files.list('/workspace/up', 9)), 'outside_workspace');
  for (const path of [secret, '/etc/passwd', '/workspace2/a', 'a', '', '/']) {
    assert.equal(await read(path), 'outside_workspace', path);
  }
  assert.equal(readFileSync(secret, 'utf8'), 'secret');
});

test('what is no path, no end or no file is refused', async (t) => {
  const { root, read, write, files } = await workspace(t);
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('x/'.repeat(1000), join(root, 'x'));
  writeFileSync(join(root, 'file'), '');
  assert.equal(await read('/workspace/a\0b'), 'not_found');
  assert.equal(await read('/workspace/none'), 'not_found');
  assert.equal(await read('/workspace/loop'), 'not_found');
  assert.equal(await write('/workspace/loop', ''), 'not_found');
  assert.equal(await read('/workspace/x'), 'not_found');
  assert.equal(await read(`/workspace/${'n'.repeat(300)}`), 'not_found');
  assert.equal(await write('/workspace/none/../a', ''), 'not_found');
  assert.equal(await read('/workspace/file/a'), 'not_a_directory');
  assert.equal(await write('/workspace/file/a', ''), 'not_a_directory');
  assert.equal(await read('/workspace'), 'not_a_file');
  assert.equal(await write('/workspace', ''), 'not_a_file');
  assert.equal(why(await files.stat('/workspace')), 'ok');
  assert.deepEqual(readdirSync(root).sort(), ['file', 'loop', 'x']);
});

test('nothing but a file is opened', async (t) => {
  const { root, read, write, files } = await workspace(t);
  execFileSync('mkfifo', [join(root, 'fifo')]);
  const server = createServer();
  server.listen(join(root, 'socket'));
  await once(server, 'listening');
  t.after(() => server.close());
  symlinkSync('/dev/zero', join(root, 'device'));
  for (const name of ['fifo', 'socket']) {
    assert.equal(await read(`/workspace/${name}`), 'not_a_file');
    assert.equal(await write(`/workspace/${name}`, 'x'), 'not_a_file');
    assert.deepEqual(await files.stat(`/workspace/${name}`), { ok: true, value: { kind: 'other', size: 0 } });
  }
  assert.equal(await read('/workspace/device'), 'outside_workspace');
});

test('a device is not opened', async () => {
  const files = openWorkspaceFiles('/dev', {
    mountedAt: '/workspace',
    drafts: '/dev/none',
    owner: null,
    readOnly: true,
  });
  assert.equal(why(await files.read('/workspace/zero', 10)), 'not_a_file');
});

test('reading is bounded by what is read, not by what a size says', async (t) => {
  const { root, read } = await workspace(t);
  writeFileSync(join(root, 'sparse'), '');
  truncateSync(join(root, 'sparse'), 2 ** 40);
  assert.equal(await read('/workspace/sparse'), 'too_large');
  writeFileSync(join(root, 'ten'), '0123456789');
  assert.equal(await read('/workspace/ten', 10), '0123456789');
  assert.equal(await read('/workspace/ten', 9), 'too_large');
  writeFileSync(join(root, 'large'), 'x'.repeat(3_000_000));
  assert.equal((await read('/workspace/large', 3_000_000)).length, 3_000_000);
  // Files of proc have a size of 0 and content all the same.
  const proc = openWorkspaceFiles(`/proc/${process.pid}`, {
    mountedAt: '/workspace',
    drafts: '/proc/none',
    owner: null,
    readOnly: true,
  });
  assert.equal(why(await proc.read('/workspace/status', 10)), 'too_large');
  assert.match(text(await proc.read('/workspace/status', 100_000)), /^Name:/);
});

test('a folder that is swapped for a link all the time never leads out', async (t) => {
  const { outer, root, read, write } = await workspace(t);
  for (const folder of [join(root, 'a'), join(outer, 'out')]) mkdirSync(folder);
  writeFileSync(join(root, 'a/file'), 'inside');
  writeFileSync(join(outer, 'out/file'), 'secret');
  symlinkSync('../out', join(root, 'b'));
  // A write that comes when there is no `a` makes one, which is in the way then.
  const swap = `const { renameSync, rmSync } = require('node:fs'); process.stdout.write('up');
    function move(from, to) {
      for (;;) {
        try { return renameSync(from, to); } catch {}
        try { rmSync(to, { recursive: true }); } catch {}
      }
    }
    for (;;) { move('a', 'c'); move('b', 'a'); move('a', 'b'); move('c', 'a'); }`;
  const swapper = spawn(process.execPath, ['-e', swap], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(swapper, 'exit');
  const seen = new Set<string>();
  try {
    await once(swapper.stdout, 'data');
    for (let round = 0; round < 400; round += 1) {
      seen.add(await read('/workspace/a/file'));
      await write('/workspace/a/new', 'x');
      await write(`/workspace/a/f${round}/new`, 'x');
    }
    assert.equal(swapper.exitCode, null);
  } finally {
    // Before the folders are removed, which would find others than they listed.
    swapper.kill('SIGKILL');
    await ended;
  }
  assert.ok(!seen.has('secret'), [...seen].join());
  assert.deepEqual(readdirSync(join(outer, 'out')), ['file']);
});

test('no descriptor is left open', async (t) => {
  const { root, read, write, files } = await workspace(t);
  symlinkSync('/etc', join(root, 'out'));
  await write('/workspace/a/b', 'x');
  const before = openFiles();
  for (let round = 0; round < 20; round += 1) {
    await read('/workspace/a/b');
    await read('/workspace/a/b', 0);
    await read('/workspace/a');
    await read('/workspace/out/passwd');
    await read('/workspace/a/none');
    await write('/workspace/a/b/c', 'x');
    await write(`/workspace/a/${round}/c`, 'x');
    await files.list('/workspace/a', 1);
    await files.list('/workspace/a', 100);
    await files.stat('/workspace/a/../a');
  }
  assert.equal(openFiles(), before);
});

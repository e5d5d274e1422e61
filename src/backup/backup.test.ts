import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { test, type TestContext } from 'node:test';
import { openVault } from '../secrets/key-file.ts';
import { openStorage } from '../storage/storage.ts';
import { backUp } from './backup.ts';
import { encodeHeader, END_OF_ARCHIVE, paddingOf, type TarEntry } from './tar-format.ts';
import { type Opening, Sum } from './manifest.ts';
import { restore } from './restore.ts';

const isRoot = process.getuid?.() === 0;

async function dataDirectory(t: TestContext) {
  const place = mkdtempSync(join(tmpdir(), 'parley-backup-'));
  t.after(() => {
    execFileSync('chmod', ['-R', 'u+rwX', place]);
    rmSync(place, { recursive: true });
  });
  const dataDir = join(place, 'data');
  mkdirSync(dataDir);
  const storage = await openStorage(dataDir);
  const { read, transact } = storage;
  await openVault({
    dataDir,
    given: null,
    sentinel: {
      get: (name) => read.meta.get(name),
      set: (name, value) => transact(({ meta }) => meta.set(name, value)),
    },
  });
  await storage.close();
  const workspace = join(dataDir, 'workspaces/1/workspace');
  mkdirSync(workspace, { recursive: true });
  const left: string[] = [];
  const keysOf = (dir: string) => ({ dataDir: dir, given: null });
  return {
    place,
    dataDir,
    workspace,
    left,
    backUp: (name: string, withKey = true) =>
      backUp({
        dataDir,
        keys: keysOf(dataDir),
        file: join(place, name),
        withKey,
        leftOut: (path, why) => left.push(`${path}: ${why}`),
      }),
    restore: (name: string, to = 'restored') =>
      restore({ dataDir: join(place, to), file: join(place, name), keys: keysOf(join(place, to)) }),
  };
}

test('files, modes, owners, times, links of both kinds and names of any bytes come back as they were', async (t) => {
  const { place, workspace, left, backUp, restore } = await dataDirectory(t);
  const hostile = Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff, 0x0a, 0x22, 0x20])]);
  writeFileSync(hostile, 'bytes');
  const deep = join(workspace, 'd'.repeat(200), 'e'.repeat(200));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'f'.repeat(255)), 'deep', { mode: 0o640 });
  linkSync(join(deep, 'f'.repeat(255)), join(workspace, 'again'));
  symlinkSync('/etc/passwd', join(workspace, 'out'));
  symlinkSync('t'.repeat(300), join(workspace, 'long'));
  writeFileSync(join(workspace, 'run'), '#!/bin/sh\n');
  execFileSync('touch', ['-d', '2001-02-03T04:05:06Z', join(workspace, 'run')]);
  chmodSync(join(workspace, 'run'), 0o755);
  writeFileSync(join(workspace, 'holes'), 'x');
  truncateSync(join(workspace, 'holes'), 50_000_000);
  if (isRoot) execFileSync('chown', ['-h', '2000000001:2000000002', join(workspace, 'out')]);
  const closed = join(workspace, 'closed');
  mkdirSync(closed);
  writeFileSync(join(closed, 'inside'), '');
  chmodSync(closed, 0o555);

  const listing = (root: string): string =>
    execFileSync('sh', ['-c', 'find . -printf "%y %m %U %G %s %n %T@ %l %p\\0" | sort -z'], {
      cwd: join(root, 'workspaces'),
      encoding: 'latin1',
    }).replaceAll(/(\d{10}|\d{9})\.\d+ /g, '$1 ');
  for (const name of ['a.tar', 'a.tar.gz', 'a.tar.zst']) {
    await backUp(name);
    const to = `restored ${name}`;
    await restore(name, to);
    // The sizes of folders are the file system's.
    const without = (text: string): string => text.replaceAll(/d (\d+ \d+ \d+) \d+ /g, 'd $1 ');
    assert.equal(without(listing(join(place, to))), without(listing(join(place, 'data'))));
    assert.ok(statSync(join(place, to, 'workspaces/1/workspace/holes')).blocks < 1000, 'holes stay holes');
  }
  assert.deepEqual(left, []);
});

test('ordinary tar unpacks it', async (t) => {
  const { place, workspace, backUp } = await dataDirectory(t);
  writeFileSync(join(workspace, 'n'.repeat(150)), 'content');
  await backUp('a.tar.gz');
  mkdirSync(join(place, 'by tar'));
  execFileSync('tar', ['-xf', join(place, 'a.tar.gz'), '-C', join(place, 'by tar')]);
  assert.equal(
    readFileSync(join(place, 'by tar/workspaces/1/workspace', 'n'.repeat(150)), 'utf8'),
    'content',
  );
});

test('sockets and FIFOs are left out, and said', async (t) => {
  const { workspace, left, backUp } = await dataDirectory(t);
  execFileSync('mkfifo', [join(workspace, 'fifo')]);
  const server = createServer().listen(join(workspace, 'socket'));
  await once(server, 'listening');
  t.after(() => server.close());
  await backUp('a.tar');
  assert.deepEqual(left.toSorted(), [
    'workspaces/1/workspace/fifo: it is a FIFO',
    'workspaces/1/workspace/socket: it is a socket',
  ]);
});

test('without the key: the restored directory waits for it', async (t) => {
  const { place, dataDir, backUp, restore } = await dataDirectory(t);
  const { opening } = await backUp('a.tar', false);
  assert.equal(opening.key, 'left out');
  assert.equal((await restore('a.tar')).keyFits, false);
  assert.ok(!readdirSync(join(place, 'restored')).includes('secret-key'));
  const whole = join(dataDir, 'secret-key');
  writeFileSync(join(place, 'restored/secret-key'), readFileSync(whole));
  assert.equal((await backUp('b.tar')).opening.key, 'included');
  assert.equal((await restore('b.tar', 'again')).keyFits, true);
});

test('a key that does not open what is stored makes no backup', async (t) => {
  const { place, dataDir, backUp } = await dataDirectory(t);
  writeFileSync(join(dataDir, 'secret-key'), `${Buffer.alloc(32, 7).toString('base64')}\n`);
  await assert.rejects(backUp('a.tar'), /does not open what the database holds/);
  assert.deepEqual(readdirSync(place), ['data']);
});

test('what was changed, cut off or made by a later release is refused, and nothing of it stays', async (t) => {
  const { place, workspace, backUp, restore } = await dataDirectory(t);
  writeFileSync(join(workspace, 'file'), 'content of a file');
  await backUp('a.tar.gz');
  const bytes = gunzipSync(readFileSync(join(place, 'a.tar.gz')));
  const refused = async (changed: Buffer, why: RegExp): Promise<void> => {
    writeFileSync(join(place, 'changed'), changed);
    await assert.rejects(restore('changed'), why);
    assert.ok(!existsSync(join(place, 'restored')), 'a directory that it made');
    mkdirSync(join(place, 'restored'));
    await assert.rejects(restore('changed'), why);
    assert.deepEqual(readdirSync(join(place, 'restored')), []);
    rmSync(join(place, 'restored'), { recursive: true });
  };
  const flipped = Buffer.from(bytes);
  flipped.write('C', flipped.indexOf('content of a file'));
  await refused(gzipSync(flipped), /checksum is wrong/);
  await refused(gzipSync(bytes.subarray(0, bytes.length / 2)), /ends in the middle/);
  await refused(gzipSync(bytes).subarray(0, 500), /is damaged/);
  await refused(Buffer.from('no archive at all'), /not a whole backup/);
  await refused(Buffer.alloc(0), /not a whole backup/);
  const later = Buffer.from(bytes);
  later.write('9', later.indexOf('0001-first'));
  await refused(later, /later release/);
});

const OPENING: Opening = {
  format: 'parley-backup',
  version: 1,
  parley: '0.0.0',
  createdAt: '2026-01-01T00:00:00.000Z',
  migrations: [],
  key: 'included',
};

/** An archive with entries that no backup has, and a right checksum. */
function forged(entries: readonly (Partial<TarEntry> & { path: Buffer })[]): Buffer {
  const sum = new Sum();
  const parts: Buffer[] = [];
  const add = (entry: Partial<TarEntry> & { path: Buffer }, content: Buffer, counts = true): void => {
    const nothing = { type: 'file', mode: 0o644, uid: 0, gid: 0, mtime: 0, target: Buffer.alloc(0) } as const;
    const whole: TarEntry = { ...nothing, ...entry, size: content.length };
    parts.push(counts ? sum.header(whole) : encodeHeader(whole));
    if (counts) sum.content(content);
    parts.push(content, Buffer.alloc(paddingOf(content.length)));
  };
  add({ path: Buffer.from('parley-backup.json') }, Buffer.from(JSON.stringify(OPENING)));
  for (const entry of entries) {
    add(entry, entry.type === undefined || entry.type === 'file' ? Buffer.from('hostile') : Buffer.alloc(0));
  }
  add({ path: Buffer.from('parley-backup-end.json') }, Buffer.from(JSON.stringify(sum.end())), false);
  return Buffer.concat([...parts, END_OF_ARCHIVE]);
}

test('no entry leads out of the directory', async (t) => {
  const { place, restore } = await dataDirectory(t);
  writeFileSync(join(place, 'outside'), 'untouched');
  const path = (text: string): { path: Buffer } => ({ path: Buffer.from(text) });
  const outside = join(place, 'outside');
  const link = { ...path('link'), type: 'symlink' as const, target: Buffer.from(place) };
  const cases = [
    [path('../outside')],
    [path('a/../../outside')],
    [path(outside)],
    [path('a//b')],
    [path('.')],
    [path('serving.lock')],
    [path('parley.db-wal')],
    [path('.restore/a')],
    [link, path('link/outside')],
    [{ ...path('link'), type: 'symlink' as const, target: Buffer.from('..') }, path('link/outside')],
    [link, { ...path('hard'), type: 'link' as const, target: Buffer.from('link/outside') }],
    [{ ...path('hard'), type: 'link' as const, target: Buffer.from('../../outside') }],
    [{ ...path('hard'), type: 'link' as const, target: Buffer.from(outside) }],
    [path('missing/file')],
    [path('twice'), path('twice')],
    [link, path('link')],
  ];
  for (const entries of cases) {
    writeFileSync(join(place, 'forged'), forged(entries));
    await assert.rejects(
      restore('forged'),
      /is not a whole backup/,
      entries.map(({ path }) => path.toString()).join(),
    );
  }
  writeFileSync(join(place, 'forged'), forged([path('harmless')]));
  await assert.rejects(restore('forged'), /no database in it/, 'the forgery itself is well made');
  assert.equal(readFileSync(outside, 'utf8'), 'untouched');
  assert.deepEqual(
    readdirSync(place).filter((name) => name !== 'forged' && name !== 'restored'),
    ['data', 'outside'],
  );
});

test('a link that was a link is one again, whatever it says', async (t) => {
  const { place, workspace, backUp, restore } = await dataDirectory(t);
  symlinkSync('../../../../../../outside', join(workspace, 'up'));
  await backUp('a.tar');
  await restore('a.tar');
  const restored = join(place, 'restored/workspaces/1/workspace/up');
  assert.ok(lstatSync(restored).isSymbolicLink());
  assert.equal(readlinkSync(restored), '../../../../../../outside');
});

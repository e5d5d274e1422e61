import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { PackCommits } from './pack-commits.ts';

const directories: string[] = [];
after(() => directories.forEach((directory) => rmSync(directory, { recursive: true, force: true })));

/** A repository whose commits are alike enough to be packed as deltas, with files on both sides of what is read whole. */
function repository(format: 'sha1' | 'sha256') {
  const directory = mkdtempSync(join(tmpdir(), 'pack-'));
  directories.push(directory);
  const git = (args: string[], input?: string | Buffer): Buffer =>
    execFileSync('git', args, {
      cwd: directory,
      maxBuffer: 2 ** 28,
      env: { PATH: process.env['PATH'], HOME: directory, LC_ALL: 'C' },
      stdio: ['pipe', 'pipe', 'ignore'],
      ...(input !== undefined && { input }),
    });
  git(['init', '-q', '--bare', '-b', 'main', `--object-format=${format}`, '.']);
  const data = (bytes: string | Buffer) =>
    Buffer.concat([Buffer.from(`data ${bytes.length}\n`), Buffer.from(bytes), Buffer.from('\n')]);
  const who = 'committer A <a@example.org> 1700000000 +0000\n';
  const stream: Buffer[] = [];
  for (const n of Array(30).keys()) {
    const message = `${'A paragraph that stands in every message alike, word by word. '.repeat(30)}${n}\n`;
    const from = n === 0 ? '' : `from :${n}\n${n % 7 === 6 ? `merge :${n - 3}\n` : ''}`;
    stream.push(
      Buffer.from(`commit refs/heads/main\nmark :${n + 1}\n${who}`),
      data(message),
      Buffer.from(from),
    );
    stream.push(Buffer.from(`M 100644 inline small-${n}\n`), data(`small ${n}\n`.repeat(n)));
  }
  for (const [name, bytes] of [
    ['noise', randomBytes(1_500_000)],
    ['zeros', Buffer.alloc(5_000_000)],
  ] as const) {
    stream.push(Buffer.from(`M 100644 inline ${name}\n`), data(bytes));
  }
  git(['fast-import', '--quiet'], Buffer.concat(stream));
  const parents = git(['rev-list', '--parents', 'main']).toString().trim().split('\n');
  const expected = new Map(parents.map((line) => line.split(' ')).map(([id = '', ...rest]) => [id, rest]));
  const pack = (...more: string[]): Buffer =>
    git(['pack-objects', '--revs', '--stdout', '-q', '--no-reuse-delta', ...more], 'main\n');
  return { pack, expected };
}

async function commitsIn(pack: Buffer, size: number, hash: 'sha1' | 'sha256' = 'sha1') {
  const reader = new PackCommits(hash);
  for (let at = 0; at < pack.length; at += size) await reader.write(pack.subarray(at, at + size));
  await reader.end();
  return reader.commits;
}

const sorted = (commits: ReadonlyMap<string, readonly string[]>) =>
  [...commits].sort(([a], [b]) => (a < b ? -1 : 1));

describe('the commits of a pack', () => {
  const { pack, expected } = repository('sha1');

  it('are found however it is cut, whole and as deltas to an offset or an id', async () => {
    for (const [args, sizes] of [
      [['--depth=0'], [65_536]],
      [['--delta-base-offset'], [997, 65_536, 2 ** 28]],
      [[], [65_536]],
    ] as const) {
      const packed = pack(...args);
      for (const size of sizes) {
        assert.deepEqual(
          sorted(await commitsIn(packed, size)),
          sorted(expected),
          `${args.join()} in ${size}`,
        );
      }
    }
    assert.ok(pack('--delta-base-offset').length < pack('--depth=0').length - 5_000, 'there are deltas');
  });

  it('are found by SHA-256, too', async () => {
    const other = repository('sha256');
    const found = await commitsIn(other.pack('--delta-base-offset'), 65_536, 'sha256');
    assert.deepEqual(sorted(found), sorted(other.expected));
  });

  it('are never others than those that it has, whatever is changed in it', async () => {
    const packed = pack('--delta-base-offset');
    // Deterministic: each run changes the same bytes.
    for (let n = 0; n < 60; n += 1) {
      const changed = Buffer.from(packed);
      const at = 4 + ((n * 7_919) % 60_000);
      changed[at] = (changed[at] ?? 0) ^ (1 << (n % 8));
      for (const [id, parents] of await commitsIn(changed.subarray(0, 200_000), 4_096)) {
        if (expected.has(id)) assert.deepEqual(parents, expected.get(id));
      }
    }
    assert.equal((await commitsIn(randomBytes(100_000), 4_096)).size, 0);
    assert.equal((await commitsIn(Buffer.from('PACK\0\0\0\u0002\u007f\u007f\u007f\u007f'), 5)).size, 0);
  });
});

import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, open, opendir, readlink } from 'node:fs/promises';

/** Something in a folder, held by a descriptor until the next one is asked for. */
export type Found = { path: Buffer } & (
  | { kind: 'file'; stats: BigIntStats; handle: FileHandle }
  | { kind: 'directory'; stats: BigIntStats }
  | { kind: 'symlink'; stats: BigIntStats; target: Buffer }
  | { kind: 'left out'; why: string }
);

// Names a file without opening it: a FIFO does not wait, a device does nothing, and a link is the link itself.
const O_PATH = 0o10000000;
/** Each level holds a descriptor; ordinary tar has trouble with longer paths than the kernel has. */
const DEEPEST = 500;
const LONGEST = 4_095;

/**
 * All that is below a folder, each folder before what is in it. One name at a time, opened in the descriptor of the
 * folder and never through a link: whoever swaps folders for links meanwhile leads it nowhere. What vanishes while it
 * is looked at is passed over.
 */
export async function* walkTree(
  folder: FileHandle,
  skips: (path: Buffer, stats: BigIntStats) => boolean,
): AsyncGenerator<Found> {
  yield* walk({ folder, path: Buffer.alloc(0), depth: 0 }, skips);
}

interface Place {
  folder: FileHandle;
  path: Buffer;
  depth: number;
}

async function* walk(
  { folder, path, depth }: Place,
  skips: (path: Buffer, stats: BigIntStats) => boolean,
): AsyncGenerator<Found> {
  // The types know names as strings alone; with this encoding they are the bytes that they are.
  const options = { encoding: 'buffer' } as unknown as { encoding: BufferEncoding };
  const entries = await opendir(`/proc/self/fd/${folder.fd}`, options);
  for await (const entry of entries) {
    const name = entry.name as unknown as Buffer;
    const own = path.length === 0 ? name : Buffer.concat([path, Buffer.from('/'), name]);
    try {
      await using held = new AsyncDisposableStack();
      const named = held.use(await open(within(folder, name), O_PATH | constants.O_NOFOLLOW));
      const stats = await named.stat({ bigint: true });
      if (skips(own, stats)) continue;
      const why = reasonToLeaveOut(stats, own, depth);
      if (why !== null) {
        yield { kind: 'left out', path: own, why };
      } else if (stats.isSymbolicLink()) {
        const target = await readlink(within(folder, name), { encoding: 'buffer' });
        yield { kind: 'symlink', path: own, stats, target };
      } else if (stats.isDirectory()) {
        yield { kind: 'directory', path: own, stats };
        yield* walk({ folder: named, path: own, depth: depth + 1 }, skips);
      } else {
        const handle = held.use(
          await open(`/proc/self/fd/${named.fd}`, constants.O_RDONLY | constants.O_NONBLOCK),
        );
        yield { kind: 'file', path: own, stats, handle };
      }
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      // EINVAL: a link that is none any more.
      if (code === 'ENOENT' || code === 'EINVAL') continue;
      if (code !== 'EACCES' && code !== 'EPERM') throw error;
      yield { kind: 'left out', path: own, why: 'it cannot be read' };
    }
  }
}

function within(folder: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);
}

const MIB = 2n ** 20n;
/** Holes are read as zeros: a file of a byte and a petabyte of nothing would keep a backup busy for days. */
const MOST_HOLES = 16n * 1024n * MIB;

function reasonToLeaveOut(stats: BigIntStats, path: Buffer, depth: number): string | null {
  if (path.length > LONGEST || depth >= DEEPEST) return 'its path is too long';
  if (stats.isSocket()) return 'it is a socket';
  if (stats.isFIFO()) return 'it is a FIFO';
  if (stats.isFile()) {
    const holes = stats.size - stats.blocks * 512n;
    return holes > MOST_HOLES ? `it has ${holes / MIB} MiB of holes` : null;
  }
  return stats.isDirectory() || stats.isSymbolicLink() ? null : 'it is a device';
}

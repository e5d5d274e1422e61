import { constants, type Dirent, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readlink } from 'node:fs/promises';
import { errnoOf } from './refusal.ts';

/** Something in the workspace, as a walk comes by. `content` is to be had only until the walk goes on. */
export interface TreeEntry {
  /** Below the root, parts joined by "/". Bytes of names that are no UTF-8 show as U+FFFD. */
  path: string;
  kind: 'file' | 'directory' | 'link';
  stats: Stats;
  /** The file's content as it was long at first, or less; of a link where it leads; of a directory nothing. */
  content: AsyncIterable<Uint8Array>;
}

/** Deeper folders are left out: each level holds two descriptors. */
const MOST_LEVELS = 100;
const BLOCK = 64 * 1024;

/**
 * Everything below the host directory `root`, folders before what is in them, in the order of the disk. Each is opened
 * in the descriptor of its folder and never through a link, so that the walk cannot leave the root, whatever is
 * swapped meanwhile. What vanishes under it is passed over; what cannot be read, or is no file, `leftOut` is told.
 */
export async function* walkTree(root: string, leftOut: (path: string) => void): AsyncGenerator<TreeEntry> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  await using top = await open(root, flags);
  yield* below(top, '', 1, leftOut);
}

async function* below(
  folder: FileHandle,
  prefix: string,
  level: number,
  leftOut: (path: string) => void,
): AsyncGenerator<TreeEntry> {
  // One byte, one character: a name that is no UTF-8 could not be opened again otherwise.
  for await (const dirent of await opendir(`/proc/self/fd/${folder.fd}`, { encoding: 'latin1' })) {
    const at = Buffer.from(`/proc/self/fd/${folder.fd}/${dirent.name}`, 'latin1');
    const path = `${prefix}${Buffer.from(dirent.name, 'latin1').toString('utf8')}`;
    const kind = await kindOf(dirent, at);
    if (kind === 'link') {
      const link = await orNone(path, leftOut, () => linkAt(at, path));
      if (link) yield link;
    } else if (kind === 'file' || kind === 'directory') {
      await using handle = await orNone(path, leftOut, () => openAs(kind, at));
      const stats = await handle?.stat();
      if (!handle || !stats) continue;
      if (kind === 'file' && !stats.isFile()) {
        leftOut(path);
      } else if (kind === 'file') {
        yield { path, kind, stats, content: contentOf(handle, stats.size) };
      } else if (level >= MOST_LEVELS) {
        leftOut(path);
      } else {
        yield { path, kind, stats, content: nothing() };
        yield* below(handle, `${path}/`, level + 1, leftOut);
      }
    } else if (kind === 'other') {
      leftOut(path);
    }
  }
}

type Kind = TreeEntry['kind'] | 'other';

/** Not every file system says what an entry is. */
async function kindOf(dirent: Dirent, at: Buffer): Promise<Kind | null> {
  const known = kind(dirent);
  const isUnknown =
    known === 'other' && !dirent.isFIFO() && !dirent.isSocket() && !dirent.isCharacterDevice();
  if (!isUnknown || dirent.isBlockDevice()) return known;
  const stats = await lstat(at).catch(() => null);
  return stats && kind(stats);
}

function kind(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Kind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

/** By then it may be a FIFO, which must not wait, or a link, which is not opened. */
function openAs(kind: 'file' | 'directory', at: Buffer): Promise<FileHandle> {
  const one = kind === 'file' ? constants.O_NONBLOCK : constants.O_DIRECTORY;
  return open(at, constants.O_RDONLY | constants.O_NOFOLLOW | one);
}

async function linkAt(at: Buffer, path: string): Promise<TreeEntry> {
  const stats = await lstat(at);
  const target = await readlink(at, { encoding: 'buffer' });
  return { path, kind: 'link', stats, content: only(target) };
}

const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO']);

async function orNone<T>(
  path: string,
  leftOut: (path: string) => void,
  attempt: () => Promise<T>,
): Promise<T | null> {
  try {
    return await attempt();
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (code === 'EACCES' || code === 'EPERM') leftOut(path);
    else if (!GONE.has(code)) throw error;
    return null;
  }
}

async function* contentOf(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < size;) {
    const block = Buffer.allocUnsafe(Math.min(BLOCK, size - position));
    const { bytesRead } = await file.read(block, 0, block.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

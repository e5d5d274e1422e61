import type { FileHandle } from 'node:fs/promises';
import { CLOSING_FILE, OPENING_FILE, type Opening, Sum } from './manifest.ts';
import { encodeHeader, END_OF_ARCHIVE, paddingOf, type TarEntry } from './tar-format.ts';
import { type Found, walkTree } from './tree.ts';

/** As much of a file as is in memory at once. */
const CHUNK = 256 * 1024;
/** Files of several names that are remembered; of more, each name becomes a file of its own. */
const MOST_LINKED = 100_000;

export interface ArchiveSource {
  opening: Opening;
  /** A copy of the database that nobody writes to, and what it is called in the data directory. */
  database: { name: string; handle: FileHandle };
  /** The data directory. */
  folder: FileHandle;
  /** What of it is not to be copied as it lies there. */
  skips: (path: Buffer, identity: string) => boolean;
  /** Told of what could not be kept as it is. */
  leftOut: (path: string, why: string) => void;
}

/** The archive as a stream of bytes. */
export async function* archive(source: ArchiveSource): AsyncGenerator<Buffer> {
  const sum = new Sum();
  const opening = Buffer.from(`${JSON.stringify(source.opening, null, 2)}\n`);
  yield sum.header(ownFile(OPENING_FILE, opening.length));
  sum.content(opening);
  yield padded(opening);
  const { name, handle } = source.database;
  yield* file(sum, ownFile(name, (await handle.stat()).size), handle, () => {});
  yield* tree(sum, source);
  const closing = Buffer.from(`${JSON.stringify(sum.end(), null, 2)}\n`);
  yield encodeHeader(ownFile(CLOSING_FILE, closing.length));
  yield padded(closing);
  yield END_OF_ARCHIVE;
}

async function* tree(sum: Sum, { folder, skips, leftOut }: ArchiveSource): AsyncGenerator<Buffer> {
  const linked = new Map<string, { path: Buffer; left: bigint }>();
  for await (const found of walkTree(folder, (path, { dev, ino }) => skips(path, `${dev}:${ino}`))) {
    const shown = found.path.toString('utf8');
    if (found.kind === 'left out') {
      leftOut(shown, found.why);
      continue;
    }
    const former = found.kind === 'file' ? linkedBefore(linked, found) : null;
    const entry = entryOf(found, former);
    if (entry.type === 'file' && found.kind === 'file') {
      yield* file(sum, entry, found.handle, (why) => leftOut(shown, why));
    } else {
      yield sum.header(entry);
    }
  }
}

/** The path that a file of several names was kept under, or null where this is its first. */
function linkedBefore(
  linked: Map<string, { path: Buffer; left: bigint }>,
  { path, stats }: Extract<Found, { kind: 'file' }>,
): Buffer | null {
  if (stats.nlink < 2n) return null;
  const identity = `${stats.dev}:${stats.ino}`;
  const known = linked.get(identity);
  if (known === undefined) {
    if (linked.size < MOST_LINKED) linked.set(identity, { path, left: stats.nlink - 1n });
    return null;
  }
  known.left -= 1n;
  if (known.left <= 0n) linked.delete(identity);
  return known.path;
}

function entryOf(found: Exclude<Found, { kind: 'left out' }>, former: Buffer | null): TarEntry {
  const { path, stats } = found;
  const common = {
    path,
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    size: 0,
    mtime: Number(stats.mtimeMs / 1000n),
    target: Buffer.alloc(0),
  };
  if (former !== null) return { ...common, type: 'link', target: former };
  if (found.kind === 'symlink') return { ...common, type: 'symlink', target: found.target };
  if (found.kind === 'directory') return { ...common, type: 'directory' };
  return { ...common, type: 'file', size: Number(stats.size) };
}

/** Exactly as many bytes as its header says, whatever happens to the file meanwhile. */
async function* file(
  sum: Sum,
  entry: TarEntry,
  handle: FileHandle,
  changed: (why: string) => void,
): AsyncGenerator<Buffer> {
  yield sum.header(entry);
  let left = entry.size;
  while (left > 0) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, left));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) {
      changed('it became shorter while it was read: zeros stand for what was cut off');
      break;
    }
    const bytes = buffer.subarray(0, bytesRead);
    sum.content(bytes);
    left -= bytesRead;
    yield bytes;
  }
  while (left > 0) {
    const zeros = Buffer.alloc(Math.min(CHUNK, left));
    sum.content(zeros);
    left -= zeros.length;
    yield zeros;
  }
  yield Buffer.alloc(paddingOf(entry.size));
}

function ownFile(name: string, size: number): TarEntry {
  return {
    path: Buffer.from(name),
    type: 'file',
    mode: 0o600,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    size,
    mtime: Math.floor(Date.now() / 1000),
    target: Buffer.alloc(0),
  };
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))]);
}

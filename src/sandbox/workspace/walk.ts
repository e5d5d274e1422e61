import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { open, readlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { FileResult } from '../workspace-files.ts';
import { errnoOf, refused } from './refusal.ts';

// Not among Node's constants. Such a descriptor names a file without opening it: a FIFO does not wait, a device does
// nothing, and a link is the link itself. The same number on every architecture that Node runs on under Linux.
const O_PATH = 0o10000000;
// As many links as the kernel follows in one path (path_resolution(7)), and as many more for `..`.
const MOST_TURNS = 80;
// A path of the kernel's greatest length has no more names; links could make one of any length.
const MOST_NAMES = 2048;

/** Where a path leads. Exactly one of `entry` and `missing` says something: what is there, or which names are not. */
export interface Place extends AsyncDisposable {
  /** The folder that holds `entry` or the first of `missing`; null only for the workspace itself. */
  folder: FileHandle | null;
  name: string;
  entry: { handle: FileHandle; stats: Stats } | null;
  missing: readonly string[];
}

interface Walked {
  kind: 'turned';
  /** The path that is left to go, from the root. */
  parts: string[];
}

/** The path of something in a folder that is held by a descriptor. */
export const within = (folder: FileHandle, name: string): string => `/proc/self/fd/${folder.fd}/${name}`;

/**
 * Goes from the host directory `root` to `path` one name at a time, each opened in the descriptor of the one before
 * and never through a link: a link is read, and the walk begins anew at the root with what it says. So it cannot
 * leave the root, whatever is swapped meanwhile. Paths and absolute links are as seen inside, below `mountedAt`.
 */
export async function walk(root: string, mountedAt: string, path: string): Promise<FileResult<Place>> {
  let parts = partsBelow(mountedAt, path);
  for (let turn = 0; parts !== null && parts.length <= MOST_NAMES && turn < MOST_TURNS; turn += 1) {
    const step = await goStraight(root, mountedAt, parts);
    if (!('kind' in step)) return step;
    parts = step.parts;
    if (parts[0] === '..') parts = null;
  }
  if (parts === null) return refused('outside_workspace', `${path} is not below ${mountedAt}`);
  return refused('not_found', `${path} leads through too many links`);
}

/** The names of a path below `mountedAt`, `..` still in it; null when it is elsewhere. */
function partsBelow(mountedAt: string, path: string): string[] | null {
  const all = path.split('/').filter((part) => part !== '' && part !== '.');
  const mount = mountedAt.split('/').filter((part) => part !== '');
  const below = path.startsWith('/') && mount.every((part, at) => all[at] === part);
  return below ? all.slice(mount.length) : null;
}

async function goStraight(
  root: string,
  mountedAt: string,
  parts: readonly string[],
): Promise<Walked | FileResult<Place>> {
  await using held = new AsyncDisposableStack();
  const hold = async (path: string): Promise<FileHandle> =>
    held.use(await open(path, O_PATH | constants.O_NOFOLLOW));
  const reached = (place: Omit<Place, typeof Symbol.asyncDispose>): FileResult<Place> => {
    const kept = held.move();
    return { ok: true, value: { ...place, [Symbol.asyncDispose]: () => kept.disposeAsync() } };
  };
  let folder: FileHandle | null = null;
  let name = '';
  let entry = await describe(await hold(root));
  if (!entry.stats.isDirectory()) return refused('not_found', 'the workspace is gone');
  for (const [at, part] of parts.entries()) {
    const [before, after] = [parts.slice(0, at), parts.slice(at + 1)];
    if (!entry.stats.isDirectory()) return refused('not_a_directory', `${name} is not a directory`);
    if (part === '..')
      return { kind: 'turned', parts: at === 0 ? ['..'] : [...before.slice(0, -1), ...after] };
    // No more than three descriptors at a time, however deep.
    await folder?.close();
    folder = entry.handle;
    name = part;
    try {
      entry = await describe(await hold(within(folder, part)));
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      return reached({ folder, name, entry: null, missing: [part, ...after] });
    }
    if (entry.stats.isSymbolicLink()) {
      const target = await readlink(within(folder, part));
      const led = target.startsWith('/') ? partsBelow(mountedAt, target) : [...before, ...target.split('/')];
      return { kind: 'turned', parts: led === null ? ['..'] : [...clean(led), ...after] };
    }
  }
  return reached({ folder, name, entry, missing: [] });
}

const clean = (parts: readonly string[]): string[] => parts.filter((part) => part !== '' && part !== '.');

const describe = async (handle: FileHandle): Promise<{ handle: FileHandle; stats: Stats }> => ({
  handle,
  stats: await handle.stat(),
});

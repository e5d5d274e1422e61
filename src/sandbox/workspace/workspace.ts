import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { mkdir, open, opendir, rename, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileResult, WorkspaceFiles } from '../workspace-files.ts';
import { orRefusal, refused } from './refusal.ts';
import { walk, within } from './walk.ts';
import type { Place } from './walk.ts';

export interface WorkspaceOptions {
  /** The path of the root as the commands see it: `/workspace`. */
  mountedAt: string;
  /** Whom new files and folders belong to; null: to whoever the service is. */
  owner: { uid: number; gid: number } | null;
  /**
   * Host directory on the same file system that no command gets at: what is written waits there until it is whole.
   * Made when missing. Whoever was killed leaves what it wrote in it.
   */
  drafts: string;
  /** Refuses every write. */
  readOnly: boolean;
}

interface Listed {
  name: string;
  kind: 'file' | 'directory' | 'other';
}

/** The files below the host directory `root`, which no command may be able to rename or replace. */
export function openWorkspaceFiles(root: string, options: WorkspaceOptions): WorkspaceFiles {
  const { mountedAt, owner, drafts } = options;

  const at = <T>(path: string, act: (place: Place) => Promise<FileResult<T>>): Promise<FileResult<T>> =>
    orRefusal(path, async () => {
      if (path.includes('\0')) return refused('not_found', 'a path cannot contain a NUL character');
      const found = await walk(root, mountedAt, path);
      if (!found.ok) return found;
      await using place = found.value;
      return await act(place);
    });

  return {
    read: (path, maxBytes) =>
      at(path, async ({ entry }) => {
        if (entry === null) return refused('not_found', `${path} does not exist`);
        if (!entry.stats.isFile()) return refused('not_a_file', `${path} is not a file`);
        if (entry.stats.size > maxBytes) return refused('too_large', `${path} has ${entry.stats.size} bytes`);
        const content = await readUpTo(entry.handle, entry.stats.size, maxBytes);
        return content === null
          ? refused('too_large', `${path} has grown beyond ${maxBytes} bytes`)
          : { ok: true, value: content };
      }),

    write: (path, content) =>
      at(path, async (place) => {
        if (options.readOnly) return refused('not_permitted', 'the workspace is read-only');
        const { folder, entry, missing } = place;
        if (folder === null || (entry && !entry.stats.isFile()))
          return refused('not_a_file', `${path} is not a file`);
        if (missing.includes('..'))
          return refused('not_found', `${path} leads through a folder that does not exist`);
        await using held = new AsyncDisposableStack();
        let parent = folder;
        for (const name of missing.slice(0, -1)) parent = held.use(await makeFolder(parent, name, owner));
        const mode = modeOf(entry?.stats);
        await replace(parent, missing.at(-1) ?? place.name, content, { drafts, owner, mode });
        return { ok: true, value: undefined };
      }),

    list: (path, maxEntries) =>
      at(path, async ({ entry }) => {
        if (entry === null) return refused('not_found', `${path} does not exist`);
        if (!entry.stats.isDirectory()) return refused('not_a_directory', `${path} is not a directory`);
        return { ok: true, value: await listUpTo(entry.handle, maxEntries) };
      }),

    stat: (path) =>
      at(path, async ({ entry }) => {
        if (entry === null) return refused('not_found', `${path} does not exist`);
        return { ok: true, value: { kind: kindOf(entry.stats), size: entry.stats.size } };
      }),
  };
}

/** By a descriptor that names a regular file. Null when there is more than its size had promised, beyond `maxBytes`. */
async function readUpTo(named: FileHandle, size: number, maxBytes: number): Promise<Uint8Array | null> {
  await using file = await open(`/proc/self/fd/${named.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    // One byte more than expected, so that the usual file needs one read and one that finds the end.
    const room = Math.min(Math.max(size - length, 65_535), maxBytes - length) + 1;
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(room, 1 << 20)));
    if (bytesRead === 0) return Buffer.concat(parts);
    parts.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
    if (length > maxBytes) return null;
  }
}

async function listUpTo(folder: FileHandle, maxEntries: number): Promise<Listed[]> {
  const entries: Listed[] = [];
  if (maxEntries <= 0) return entries;
  for await (const entry of await opendir(`/proc/self/fd/${folder.fd}`)) {
    entries.push({ name: entry.name, kind: kindOf(entry) });
    if (entries.length >= maxEntries) break;
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Makes a folder, or takes the one that appeared meanwhile; never goes through a link. */
async function makeFolder(
  parent: FileHandle,
  name: string,
  owner: WorkspaceOptions['owner'],
): Promise<FileHandle> {
  await mkdir(within(parent, name), 0o755);
  const folder = await open(
    within(parent, name),
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  // By its descriptor: a link in its place was not opened.
  if (owner) await folder.chown(owner.uid, owner.gid);
  return folder;
}

/** Puts a whole new file in place of `name`, so that no reader sees half of it. */
async function replace(
  folder: FileHandle,
  name: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { drafts, owner, mode }: Pick<WorkspaceOptions, 'drafts' | 'owner'> & { mode: number },
): Promise<void> {
  await mkdir(drafts, { recursive: true, mode: 0o700 });
  const temporary = join(drafts, randomBytes(16).toString('hex'));
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(temporary, flags, 0o600);
  try {
    await using _ = file;
    await file.writeFile(content);
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.chmod(mode);
    await rename(temporary, within(folder, name));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

/** A new file's, or that of the file it replaces; never with set-user-id. */
const modeOf = (replaced: Stats | undefined): number => (replaced ? replaced.mode & 0o777 : 0o644);

function kindOf(entry: Pick<Stats, 'isFile' | 'isDirectory'>): Listed['kind'] {
  if (entry.isFile()) return 'file';
  return entry.isDirectory() ? 'directory' : 'other';
}

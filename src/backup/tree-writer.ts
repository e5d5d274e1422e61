import { constants } from 'node:fs';
import { type FileHandle, chmod, lchown, link, lutimes, mkdir, open, symlink } from 'node:fs/promises';
import { type TarEntry, NotAnArchive } from './tar-format.ts';

/** A folder that is being filled; what its entry said of it is done when it is left. */
interface Open {
  name: Buffer;
  handle: FileHandle;
  entry: TarEntry | null;
}

const ZEROS = Buffer.alloc(4096);
const SLASH = 0x2f;

/**
 * Writes entries below a folder that nobody else writes to. A path is gone one name at a time, each folder opened in
 * the descriptor of the one before and never through a link, so that no entry leads out, whatever came before it.
 */
export class TreeWriter implements AsyncDisposable {
  readonly #owners: boolean;
  /** From the root to the folder that was written to last. */
  readonly #open: Open[];

  /** @param owners whether files are given to whom their entries name: only root may */
  constructor(root: FileHandle, owners: boolean) {
    this.#open = [{ name: Buffer.alloc(0), handle: root, entry: null }];
    this.#owners = owners;
  }

  /** @throws NotAnArchive for an entry that leads out or hangs nowhere */
  async write(entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void> {
    const names = namesOf(entry.path);
    const name = names.pop();
    if (name === undefined) throw new NotAnArchive('an entry has no name');
    const folder = await this.#enter(names);
    const path = within(folder, name);
    switch (entry.type) {
      case 'directory':
        await mkdir(path, 0o700);
        this.#open.push({ name, handle: await openFolder(path), entry });
        return;
      case 'symlink':
        await symlink(entry.target, path);
        if (this.#owners) await lchown(path, entry.uid, entry.gid);
        await lutimes(path, entry.mtime, entry.mtime);
        return;
      case 'link':
        await this.#link(entry, path);
        return;
      default:
        await this.#file(entry, path, content);
    }
  }

  /** Closes all folders but the root, each with the mode, owner and time that it had. */
  async end(): Promise<void> {
    while (this.#open.length > 1) await this.#leave();
  }

  /** Closes what a failure left open. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { handle } of this.#open.splice(1)) await handle.close();
  }

  async #file(entry: TarEntry, path: Buffer, content: AsyncIterable<Buffer>): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using file = await open(path, flags, 0o600);
    let at = 0;
    for await (const chunk of content) {
      // Of what was a hole no byte is written, and it is one again.
      if (!isZeros(chunk)) await file.write(chunk, 0, chunk.length, at);
      at += chunk.length;
    }
    await file.truncate(at);
    if (this.#owners) await file.chown(entry.uid, entry.gid);
    await file.chmod(this.#mode(entry));
    await file.utimes(entry.mtime, entry.mtime);
  }

  async #link(entry: TarEntry, path: Buffer): Promise<void> {
    const names = namesOf(entry.target);
    const name = names.pop();
    if (name === undefined) throw new NotAnArchive('a link leads nowhere');
    await using folder = await this.#walk(names);
    // link(2) takes a symlink for what it is.
    await link(within(folder, name), path);
  }

  /** The folder of an entry: those that are not on the way to it are left for good. */
  async #enter(names: readonly Buffer[]): Promise<FileHandle> {
    const same = (at: number): boolean => {
      const opened = this.#open[at + 1];
      return opened !== undefined && names[at] !== undefined && opened.name.equals(names[at]);
    };
    let common = 0;
    while (common < names.length && same(common)) common += 1;
    while (this.#open.length > common + 1) await this.#leave();
    for (const name of names.slice(common)) {
      const handle = await openFolder(within(this.#last(), name));
      this.#open.push({ name, handle, entry: null });
    }
    return this.#last();
  }

  async #walk(names: readonly Buffer[]): Promise<FileHandle> {
    const root = this.#open[0]?.handle;
    if (root === undefined) throw new Error('there is always a root');
    let folder = await openFolder(within(root, Buffer.from('.')));
    for (const name of names) {
      await using former = folder;
      folder = await openFolder(within(former, name));
    }
    return folder;
  }

  async #leave(): Promise<void> {
    const left = this.#open.pop();
    if (left === undefined) return;
    await using handle = left.handle;
    if (left.entry === null) return;
    if (this.#owners) await handle.chown(left.entry.uid, left.entry.gid);
    await chmod(`/proc/self/fd/${handle.fd}`, this.#mode(left.entry));
    await handle.utimes(left.entry.mtime, left.entry.mtime);
  }

  /** What runs as its owner must not become what runs as whoever restores. */
  #mode({ mode }: TarEntry): number {
    return this.#owners ? mode : mode & 0o1777;
  }

  #last(): FileHandle {
    const last = this.#open.at(-1);
    if (last === undefined) throw new Error('there is always a root');
    return last.handle;
  }
}

/** @throws NotAnArchive for a path that is absolute, or leads up or through nothing */
export function namesOf(path: Buffer): Buffer[] {
  const names: Buffer[] = [];
  let from = 0;
  for (let at = 0; at <= path.length; at += 1) {
    if (at < path.length && path[at] !== SLASH) continue;
    names.push(path.subarray(from, at));
    from = at + 1;
  }
  for (const name of names) {
    const text = name.toString('latin1');
    if (text === '' || text === '.' || text === '..' || text.includes('\0') || name.length > 255) {
      throw new NotAnArchive(
        `the path ${JSON.stringify(path.toString('utf8').slice(0, 200))} leads out of it`,
      );
    }
  }
  return names;
}

async function openFolder(path: Buffer): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ELOOP' || code === 'ENOTDIR') throw new NotAnArchive('an entry leads through a link');
    if (code === 'ENOENT') throw new NotAnArchive('an entry stands in a folder that is not there');
    throw error;
  }
}

function within(folder: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);
}

function isZeros(chunk: Buffer): boolean {
  for (let at = 0; at < chunk.length; at += ZEROS.length) {
    const part = chunk.subarray(at, at + ZEROS.length);
    if (part.compare(ZEROS, 0, part.length) !== 0) return false;
  }
  return true;
}

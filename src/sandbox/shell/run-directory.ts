import { constants } from 'node:fs';
import { chmod, chown, copyFile, mkdir, open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

export interface Owner {
  uid: number;
  gid: number;
}

const SCRIPTS = ['supervisor.sh', 'pre.sh', 'save.sh'];

/**
 * Makes what the shell's two sides share: `lib/` with the scripts, which only the service may write, and an empty
 * `x/`, which belongs to `owner` (null: to whoever the service is). Nothing of it outlives the shell: the state that
 * does is `.parley/shell` in the home. Safe on what a hostile sandbox left behind, as long as none runs on it.
 */
export async function prepareRunDirectory(directory: string, owner: Owner | null): Promise<void> {
  const lib = join(directory, 'lib');
  const exchange = join(directory, 'x');
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o755);
  await Promise.all([
    rm(lib, { recursive: true, force: true }),
    rm(exchange, { recursive: true, force: true }),
  ]);
  await Promise.all([mkdir(lib), mkdir(exchange, { mode: 0o700 })]);
  for (const script of SCRIPTS) {
    await copyFile(join(import.meta.dirname, script), join(lib, script), constants.COPYFILE_EXCL);
    await chmod(join(lib, script), 0o444);
  }
  // Whatever our umask is.
  await chmod(lib, 0o755);
  if (owner) await chown(exchange, owner.uid, owner.gid);
}

/** `x/`, held by a descriptor: no command can put another directory in its place. */
export class ExchangeDirectory {
  readonly #handle: FileHandle;
  readonly #owner: Owner | null;

  private constructor(handle: FileHandle, owner: Owner | null) {
    this.#handle = handle;
    this.#owner = owner;
  }

  static async open(directory: string, owner: Owner | null): Promise<ExchangeDirectory> {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    return new ExchangeDirectory(await open(join(directory, 'x'), flags), owner);
  }

  /** For `name` without a slash; open it with O_NOFOLLOW, because commands can put links there. */
  path(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${name}`;
  }

  /** A new file that a command can read. */
  async write(name: string, content: string): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using file = await open(this.path(name), flags, 0o600);
    if (this.#owner) await file.chown(this.#owner.uid, this.#owner.gid);
    await file.writeFile(content);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

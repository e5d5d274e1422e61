import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { removeTree } from './bubblewrap/directories.ts';
import { Instance } from './bubblewrap/instance.ts';
import { isInSight, lives, type Owner, ownerOf } from './owner.ts';
import { RUN_DIRECTORY } from './run-directory.ts';
import { UNCONFINED } from './unconfined/provider.ts';

/**
 * The run directories of services that were killed and never started again. Each start cleans its own; these, of
 * other data directories, nobody else would.
 */
export class LeftBehind {
  readonly #own: string;
  /** By their directory, those that were dead at the last look. */
  #dead = new Map<string, Owner>();

  /** @param own the run directory of this service, which the others are beside */
  constructor(own: string) {
    this.#own = own;
  }

  /** Removes what is found dead twice in a row, by the same owner: who starts again has time to. */
  async look(): Promise<void> {
    const before = this.#dead;
    this.#dead = new Map();
    for (const name of await readdir(dirname(this.#own))) {
      if (!RUN_DIRECTORY.test(name) || name === basename(this.#own)) continue;
      const directory = join(dirname(this.#own), name);
      const owner = await deadOwnerOf(directory);
      if (owner === null) continue;
      if (isSame(owner, before.get(directory))) await remove(directory, owner);
      else this.#dead.set(directory, owner);
    }
  }
}

async function deadOwnerOf(directory: string): Promise<Owner | null> {
  const stats = await lstat(directory).catch(() => null);
  // In a directory that all may write to, another user may have made anything.
  if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) return null;
  const owner = await ownerOf(directory);
  return owner && (await isInSight(owner)) && !(await lives(owner)) ? owner : null;
}

function isSame(owner: Owner, other: Owner | undefined): boolean {
  return owner.pid === other?.pid && owner.startTime === other.startTime;
}

async function remove(directory: string, { groups }: Owner): Promise<void> {
  await removeTree(join(directory, UNCONFINED));
  await Instance.remove(directory, groups);
}

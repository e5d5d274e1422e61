import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, realpath, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { forgetOwner, lives, ownerOf, recordOwner } from '../owner.ts';
import { removeTree } from './directories.ts';
import { removeLeftGroups } from './limits/ladder.ts';
import { killSurvivors } from './survivors.ts';

/**
 * This service's place among others on the machine: a run directory, and a name made from its path that stands in
 * every process's mounts, every control group and every directory of its sandboxes. So that after a kill exactly
 * what was its own is cleaned up.
 */
export class Instance {
  readonly directory: string;
  readonly name: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.name = `parley-${createHash('sha256').update(directory).digest('hex').slice(0, 10)}`;
  }

  /** Removes the run directory of a service that is dead, and what else it has left. */
  static async remove(runDir: string, groups: readonly string[]): Promise<void> {
    const instance = new Instance(await realpath(runDir));
    await instance.#cleanUp(groups);
    await instance.close();
  }

  /** @throws Error when another living service has this run directory. Removes what a dead one has left. */
  static async open(runDir: string): Promise<Instance> {
    await makeOwn(runDir);
    const directory = await realpath(runDir);
    const instance = new Instance(directory);
    const before = await ownerOf(directory);
    if (before !== null && (await lives(before))) {
      throw new Error(
        `process ${before.pid} already keeps its sandboxes in ${directory}: give each service a run directory of its own`,
      );
    }
    await instance.#cleanUp(before?.groups ?? []);
    return instance;
  }

  nameOf(key: number | string): string {
    return `${this.name}.${key}`;
  }

  directoryOf(key: number | string): string {
    return join(this.directory, this.nameOf(key));
  }

  /** Stands in a line of /proc/PID/mountinfo of every process of that sandbox, and in no other process's. */
  markOf(key: number | string): string {
    return `/${this.nameOf(key)}/`;
  }

  async record(groups: readonly string[]): Promise<void> {
    await makeOwn(this.directory);
    await recordOwner(this.directory, groups);
  }

  async close(): Promise<void> {
    await forgetOwner(this.directory);
    await removeTree(join(this.directory, 'etc'));
    // Kept when it is not empty: then it is not only ours.
    await rmdir(this.directory).catch(() => undefined);
  }

  async #cleanUp(groups: readonly string[]): Promise<void> {
    const entries = await readdir(this.directory);
    const left = entries.filter((entry) => entry.startsWith(`${this.name}.`));
    if (left.length > 0) await killSurvivors(`/${this.name}.`, null);
    await removeLeftGroups(groups, this.name);
    await Promise.all(left.map((entry) => removeTree(join(this.directory, entry))));
  }
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const { uid } = await lstat(directory);
  // In a directory that all may write to, such as /tmp, another user could have made it, or a link, first.
  if (uid !== process.getuid?.()) throw new Error(`${directory} belongs to another user`);
  // Sandboxes' users pass through to their own directory, and see no list of the others.
  await chmod(directory, 0o711);
}

import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { killAll } from './process-tree.ts';

/** Where a hierarchy of control groups is mounted, and this process' own directory in it. */
export interface Hierarchy {
  mount: string;
  own: string;
}

/** The hierarchies of this host by controller name; the unified one (version 2) stands under `''`. */
export function parseHierarchies(mountinfo: string, procCgroup: string): Map<string, Hierarchy> {
  const ownPaths = new Map<string, string>();
  for (const line of procCgroup.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) ownPaths.set(controller, path);
  }
  const found = new Map<string, Hierarchy>();
  for (const line of mountinfo.split('\n')) {
    // proc(5): id parent major:minor root mount options [tags] - type source super-options
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, mount] = before.split(' ');
    const [type, , superOptions = ''] = after.split(' ');
    if (root === undefined || mount === undefined || (type !== 'cgroup' && type !== 'cgroup2')) continue;
    for (const controller of type === 'cgroup2' ? [''] : superOptions.split(',')) {
      const path = ownPaths.get(controller);
      if (path === undefined || found.has(controller)) continue;
      // In a container the mount shows a part of the hierarchy only, while the own path may count from its top.
      const below = posix.relative(root, path);
      const inside = below === '..' || below.startsWith('../') ? '' : below;
      found.set(controller, { mount, own: posix.join(mount, inside) });
    }
  }
  return found;
}

/** The processes in a control group; none when it is gone. */
export async function membersOf(directory: string): Promise<number[]> {
  try {
    const text = await readFile(join(directory, 'cgroup.procs'), 'utf8');
    return text.split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Kills what is left in a control group until it is empty, then removes it; gives up after five seconds. */
export async function killAndRemove(directory: string): Promise<void> {
  const deadline = performance.now() + 5000;
  for (;;) {
    killAll(await membersOf(directory));
    try {
      await rmdir(directory);
      return;
    } catch (error) {
      // EBUSY lasts until the kernel has torn down the namespaces, which may take a second after the last process.
      if (codeOf(error) === 'ENOENT') return;
      if (codeOf(error) !== 'EBUSY' || performance.now() > deadline) throw error;
    }
    await sleep(10);
  }
}

/** Removes a directory of control groups that a service made, with every group in it. */
export async function removeBase(base: string): Promise<void> {
  const entries = await readdir(base, { withFileTypes: true }).catch(() => []);
  await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map((entry) => killAndRemove(join(base, entry.name))),
  );
  await killAndRemove(base);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseHierarchies, removeBase } from './cgroup-files.ts';
import { cgroupV1 } from './cgroup-v1.ts';
import { cgroupV2 } from './cgroup-v2.ts';
import type { LimitKeeper } from './limits.ts';
import { rlimits } from './rlimits.ts';

/**
 * The strongest means to bound sandboxes that this host allows: cgroup v2, cgroup v1, else limits per process and
 * a watchdog. `serviceName` names this service's own groups: another service on the machine has another.
 */
export async function findLimitKeeper(serviceName: string): Promise<LimitKeeper> {
  const hierarchies = parseHierarchies(
    await readFile('/proc/self/mountinfo', 'utf8'),
    await readFile('/proc/self/cgroup', 'utf8').catch(() => ''),
  );
  return (
    (await cgroupV2(hierarchies.get(''), serviceName)) ??
    (await cgroupV1(hierarchies, serviceName)) ??
    rlimits()
  );
}

/** Removes the groups, and kills the processes in them, that a killed service of this name left behind. */
export async function removeLeftGroups(directories: readonly string[], serviceName: string): Promise<void> {
  // The list was written by the process before: only groups that bear the name are ours.
  await Promise.all(directories.filter((directory) => basename(directory) === serviceName).map(removeBase));
}

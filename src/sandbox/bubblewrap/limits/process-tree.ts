import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** The children of a process, read on the spot: a pid from earlier may be another process' by now. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      numbers(readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1')),
    );
  } catch {
    return [];
  }
}

/** A process and all that hangs below it. Nothing leaves the tree of a pid namespace: orphans go to its init. */
export async function processTree(root: number): Promise<number[]> {
  const found = [root];
  for (const pid of found) {
    // Each thread has a list of its own: what a second thread forked is not in the first one's.
    for (const task of await readdir(`/proc/${pid}/task`).catch(() => [])) {
      found.push(...numbers(await readFile(`/proc/${pid}/task/${task}/children`, 'latin1').catch(() => '')));
    }
  }
  return found;
}

/** SIGKILL to each that is still there. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      // 0 stands in a list for a process of another pid namespace, and would mean our own group.
      if (pid > 0) process.kill(pid, 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}

function numbers(text: string): number[] {
  return text.split(/\s+/).filter(Boolean).map(Number);
}

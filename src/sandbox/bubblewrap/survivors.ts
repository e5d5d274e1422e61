import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { killAll } from './limits/process-tree.ts';

/** A second is what the kernel takes at worst to tear namespaces down. */
const PATIENCE_MS = 5000;

/**
 * Kills, until there is none, every process in whose mounts a directory named `mark` is seen. A process inside cannot
 * change its mounts, so it cannot hide: not by another session, not by an undone parent-death signal.
 * `uid` narrows the search to what one sandbox can be; null looks at all.
 * @returns how many were still there after five seconds; 0 unless the kernel holds one.
 */
export async function killSurvivors(mark: string, uid: number | null): Promise<number> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await findMarked(mark, uid);
    if (found.length === 0 || performance.now() > deadline) return found.length;
    killAll(found);
    await sleep(10);
  }
}

async function findMarked(mark: string, uid: number | null): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // Not the owner of /proc/PID: a process can make that root by prctl(PR_SET_DUMPABLE).
    if (uid !== null && (await uidOf(name)) !== uid) continue;
    const mounts = await readFile(`/proc/${name}/mountinfo`, 'utf8').catch(() => '');
    if (mounts.includes(mark)) found.push(Number(name));
  }
  return found;
}

async function uidOf(pid: string): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const uid = /^Uid:\t(\d+)/m.exec(status)?.[1];
  return uid === undefined ? null : Number(uid);
}

import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The environment variable that marks the processes of one sandbox. Children inherit it unless they drop it. */
export const MARK_VARIABLE = 'PARLEY_SANDBOX_MARK';

/** Ids of all processes whose environment at their start carried the mark, as far as the service may look. */
export async function markedProcesses(mark: string): Promise<number[]> {
  const wanted = Buffer.from(`${MARK_VARIABLE}=${mark}\0`);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => ((await carries(pid, wanted)) ? Number(pid) : null)),
  );
  return found.filter((pid) => pid !== null);
}

/**
 * Kills them, and what they start meanwhile. Believes that none is left only when two looks in a row find none: a
 * process is missed that is born behind the back of the first, or that has no environment just then, within exec.
 */
export async function killMarked(mark: string): Promise<void> {
  let empty = 0;
  for (let round = 0; round < 50 && empty < 2; round += 1) {
    const pids = await markedProcesses(mark);
    empty = pids.length === 0 ? empty + 1 : 0;
    for (const pid of pids) kill(pid);
    await delay(2);
  }
}

async function carries(pid: string, wanted: Buffer): Promise<boolean> {
  try {
    // A zombie's reads as empty.
    return (await readFile(`/proc/${pid}/environ`)).includes(wanted);
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

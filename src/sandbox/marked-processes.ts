import { readFile, readdir } from 'node:fs/promises';

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

/** Kills them, and what they start meanwhile: until none is found. */
export async function killMarked(mark: string): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const pids = await markedProcesses(mark);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
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

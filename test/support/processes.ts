import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 60_000;

/** Ids of the host's living processes, those in sandboxes too, whose arguments (each ends with NUL) hold `text`. */
export async function processesSaying(text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const says = async (pid: string): Promise<boolean> =>
    (await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '')).includes(text);
  const found = await Promise.all(pids.map(async (pid) => ((await says(pid)) ? Number(pid) : null)));
  return found.filter((pid) => pid !== null);
}

/** A killed process takes a moment to go; one that stays makes the test run into its end. */
export async function untilNoneSays(text: string): Promise<void> {
  await until(async () => (await processesSaying(text)).length === 0, `processes with ${text} are left`);
}

/** Makes the test run into its end when none comes up. */
export async function untilSomeSays(text: string): Promise<void> {
  await until(async () => (await processesSaying(text)).length > 0, `no process with ${text} came up`);
}

async function until(holds: () => Promise<boolean>, otherwise: string): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > end) assert.fail(otherwise);
    await delay(20);
  }
}

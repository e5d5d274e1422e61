import type { CommandOutcome, ExecOptions } from '../../src/sandbox/sandbox.ts';

/** Milliseconds that are time enough for any machine. */
const LONG_ENOUGH = 60_000;

/**
 * What becomes of a command that says "begun" and does not end, when its time is over. It gets a second, and only on
 * a machine that has not come so far by then more, so that a test neither waits long nor counts on being quick.
 */
export async function pastItsTime(
  exec: (command: string, options: Partial<ExecOptions>) => Promise<CommandOutcome>,
  command: string,
): Promise<CommandOutcome> {
  for (let timeoutMs = 1000; ; timeoutMs *= 2) {
    const outcome = await exec(command, { timeoutMs });
    if (outcome.output.startsWith('begun\n') || timeoutMs > LONG_ENOUGH) return outcome;
  }
}

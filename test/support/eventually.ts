import assert from 'node:assert/strict';

/** Milliseconds that a test waits for what must come. Generous: the machines of a test run are shared. */
export const PATIENCE_MS = 60_000;

/** Resolves as soon as `is` holds. @throws AssertionError that says `what` was waited for in vain */
export async function eventually(what: string, is: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await is())) {
    assert.ok(Date.now() < deadline, `in vain for ${PATIENCE_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

import assert from 'node:assert/strict';
import type { Stage } from './stage.ts';

/** A request without the marks for the provider's cache, which its last message carries. */
function withoutCacheMarks(prompt: unknown): unknown {
  return JSON.parse(
    JSON.stringify(prompt, (key, value: unknown) => (key === 'providerOptions' ? undefined : value)),
  );
}

/** Asserts that each request began as the last one does: what the model was told is never told otherwise. Gives the last. */
export function assertToldAlike({ model }: Stage): string {
  const told = withoutCacheMarks(model.prompts.at(-1));
  assert.ok(Array.isArray(told));
  for (const [n, prompt] of model.prompts.entries()) {
    assert.deepEqual(withoutCacheMarks(prompt), told.slice(0, prompt.length), `request ${n}`);
  }
  return JSON.stringify(told);
}

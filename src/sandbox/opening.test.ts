import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whileOpening } from './opening.ts';
import type { SandboxProvider } from './sandbox.ts';
import { unavailable } from './unavailable.ts';

test('what is asked of a provider waits until it is open, and then it is that provider', async () => {
  const opening = Promise.withResolvers<SandboxProvider>();
  const provider = whileOpening(opening.promise);
  assert.throws(() => provider.report, /not known yet/);
  const asked = assert.rejects(
    provider.open({} as Parameters<SandboxProvider['open']>[0], AbortSignal.timeout(60_000)),
    { code: 'sandbox_unavailable', message: 'none here' },
  );
  const opened = unavailable('none', 'none here');
  opening.resolve(opened);
  await asked;
  assert.equal(provider.report, opened.report);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeSandbox } from '../../test/support/agent/fake-sandbox.ts';
import { NO_SANDBOX } from '../../test/support/conversations.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { Sandboxes, type SandboxWish } from './sandboxes.ts';

const never = new AbortController().signal;
const WISH: SandboxWish = {
  readOnlyWorkspace: false,
  workdir: '/workspace',
  env: {},
  identity: { name: 'Ann', email: 'ann@example.org' },
  git: null,
  limits: { memoryBytes: 1, processes: 1, cpus: 1, diskBytes: 1 },
};
const LOAN: SandboxWish = { ...WISH, readOnlyWorkspace: true };

/** Sandboxes that say when they are closed, of conversations that are there unless they are in `removed`. */
function bench(most = 10) {
  const removed = new Set<number>();
  const closed: Sandbox[] = [];
  const open = (): Promise<Sandbox> => {
    const ended = Promise.withResolvers<{ reason: string }>();
    const sandbox: Sandbox = Object.assign(new FakeSandbox(), {
      ended: ended.promise,
      close: async () => {
        closed.push(sandbox);
        ended.resolve({ reason: 'closed' });
      },
    });
    return Promise.resolve(sandbox);
  };
  const exists = (key: number) => Promise.resolve(!removed.has(key));
  const sandboxes = new Sandboxes({
    provider: { ...NO_SANDBOX, open },
    confined: true,
    directory: '/nowhere',
    most,
    exists,
  });
  return { sandboxes, closed, removed };
}

describe('a sandbox that is lent', () => {
  it('is the one that is open, which stays open', async () => {
    const { sandboxes, closed } = bench();
    const own = await sandboxes.open(1, WISH, never);
    assert.equal(await sandboxes.lend(1, LOAN, never, (lent) => Promise.resolve(lent)), own);
    assert.deepEqual(closed, []);
  });

  it('is opened where none is, shared by all borrowers, and closed after the last', async () => {
    const { sandboxes, closed } = bench();
    const first = Promise.withResolvers<void>();
    let one: Sandbox | undefined;
    const lending = sandboxes.lend(1, LOAN, never, async (lent) => {
      one = lent;
      await first.promise;
    });
    assert.equal(await sandboxes.lend(1, LOAN, never, (lent) => Promise.resolve(lent)), one);
    assert.deepEqual(closed, []);
    first.resolve();
    await lending;
    assert.deepEqual(closed, [one]);
    assert.equal(sandboxes.size, 0);
  });

  it('gives way to a run that wants another', async () => {
    const { sandboxes, closed } = bench();
    const reason = await sandboxes.lend(1, LOAN, never, async (lent) => {
      await sandboxes.open(1, WISH, never);
      return (await lent.ended).reason;
    });
    assert.equal(reason, 'closed');
    assert.equal(closed.length, 1);
    assert.equal(sandboxes.size, 1);
  });

  it('does not make room for others while it is used', async () => {
    const { sandboxes, closed } = bench(1);
    await sandboxes.lend(1, LOAN, never, () => sandboxes.open(2, WISH, never));
    assert.equal(closed.length, 1);
    await sandboxes.open(3, WISH, never);
    assert.equal(closed.length, 2);
  });

  it('is not to be had of a conversation that was removed', async () => {
    const { sandboxes, removed } = bench();
    removed.add(1);
    await sandboxes.discard(1);
    const use = () => Promise.resolve();
    await assert.rejects(sandboxes.lend(1, LOAN, never, use), { code: 'conversation_not_found' });
    await assert.rejects(sandboxes.open(1, WISH, never), { code: 'conversation_not_found' });
    assert.equal(sandboxes.size, 0);
  });

  it('is closed by a removal that comes while it is opened', async () => {
    const { sandboxes, closed, removed } = bench();
    const opening = sandboxes.open(1, WISH, never);
    removed.add(1);
    await sandboxes.discard(1);
    assert.deepEqual(closed, [await opening]);
    assert.equal(sandboxes.size, 0);
  });

  it('is not waited for by who has gone', async () => {
    const { sandboxes } = bench();
    const gone = AbortSignal.abort(new Error('gone'));
    await assert.rejects(
      sandboxes.lend(1, LOAN, gone, () => assert.fail('used')),
      /gone/,
    );
    assert.equal(sandboxes.size, 0);
  });
});

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { FreeSpaceGuard } from './free-space.ts';

describe('the free space guard', () => {
  it('admits work while there is room, and always without a rule', async () => {
    await new FreeSpaceGuard(tmpdir(), { bytes: 1, share: null }).admit();
    const { ok, wanted } = await new FreeSpaceGuard(tmpdir(), { bytes: null, share: null }).look();
    assert.deepEqual([ok, wanted], [true, 0]);
  });

  it('refuses work when less is left than is to stay free, and says how much is', async () => {
    const guard = new FreeSpaceGuard(tmpdir(), { bytes: 2 ** 60, share: null });
    await assert.rejects(guard.admit(), { code: 'disk_almost_full', status: 503 });
    const { free, reason } = await guard.look();
    assert.ok(free > 0);
    assert.match(reason, /has \d+ MiB left, less than the 1099511627776 MiB/);
  });

  it('takes the smaller of bytes and share', async () => {
    const guard = new FreeSpaceGuard(tmpdir(), { bytes: 2 ** 60, share: 0 });
    assert.equal((await guard.look()).wanted, 0);
  });

  it('repeats what it saw within a second', async () => {
    const guard = new FreeSpaceGuard(tmpdir(), { bytes: 1, share: 1 });
    assert.equal(await guard.look(), await guard.look());
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeptLists } from './kept-lists.ts';

const listed = (...items: string[]) => ({ items, more: false, total: null });

function lists({ most = 10_000 } = {}) {
  const clock = { now: 0 };
  return { clock, kept: new KeptLists<string>({ keptMs: 60_000, most, now: () => clock.now }) };
}

describe('a kept list', () => {
  it('is given until a minute is over, to its user and for its question alone', () => {
    const { clock, kept } = lists();
    kept.keep('ann', 't', 'q', listed('a'));
    clock.now = 59_999;
    assert.deepEqual(kept.get('ann', 't', 'q')?.items, ['a']);
    assert.equal(kept.get('bob', 't', 'q'), undefined);
    assert.equal(kept.get('ann', 't', 'p'), undefined);
    clock.now = 60_000;
    assert.equal(kept.get('ann', 't', 'q'), undefined);
  });

  it('is dropped with all others of its user when a token has changed', () => {
    const { kept } = lists();
    kept.keep('ann', 'old', 'p', listed('a'));
    kept.keep('ann', 'old', 'q', listed('b'));
    kept.keep('bob', 'his', 'q', listed('c'));
    assert.equal(kept.get('ann', 'new', 'q'), undefined);
    // Also for who would ask with the old ones again.
    assert.equal(kept.get('ann', 'old', 'p'), undefined);
    assert.deepEqual(kept.get('bob', 'his', 'q')?.items, ['c']);
  });

  it('gives way, the oldest first, when all together would be too large', () => {
    const { kept } = lists({ most: 3 * 1_100 });
    const large = listed('x'.repeat(1_000));
    for (const question of ['1', '2', '3']) kept.keep('ann', 't', question, large);
    assert.ok(kept.get('ann', 't', '1'));
    // Kept again it is as young as any.
    kept.keep('ann', 't', '1', large);
    kept.keep('ann', 't', '4', large);
    assert.equal(kept.get('ann', 't', '2'), undefined);
    assert.ok(kept.get('ann', 't', '3') && kept.get('ann', 't', '1'));
    kept.keep('ann', 't', '5', listed('x'.repeat(4_000)));
    assert.equal(kept.get('ann', 't', '5'), undefined);
    assert.ok(kept.get('ann', 't', '4'), 'one that is too large for itself drives nothing else away');
  });
});

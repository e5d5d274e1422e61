import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeptLists } from './kept-lists.ts';

const listed = (...items: string[]) => ({ items, more: false, total: null });

function lists({ most = 100 } = {}) {
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
    const { kept } = lists({ most: 6 });
    kept.keep('ann', 't', '1', listed('a', 'b'));
    kept.keep('ann', 't', '2', listed('c', 'd'));
    assert.ok(kept.get('ann', 't', '1'));
    kept.keep('ann', 't', '3', listed());
    assert.equal(kept.get('ann', 't', '1'), undefined);
    assert.ok(kept.get('ann', 't', '2'));
    // Kept again it is as young as any.
    kept.keep('ann', 't', '2', listed('c', 'e'));
    kept.keep('ann', 't', '4', listed('f', 'g'));
    assert.equal(kept.get('ann', 't', '3'), undefined);
    assert.deepEqual(kept.get('ann', 't', '2')?.items, ['c', 'e']);
    kept.keep('ann', 't', '5', listed(...Array.from({ length: 7 }, String)));
    assert.equal(kept.get('ann', 't', '5'), undefined);
    assert.ok(kept.get('ann', 't', '4'));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Condenser, Part } from '../../src/agent/condensing/condenser.ts';
import type { Unit } from '../../src/agent/history/history.ts';
import { tokensOfText } from '../../src/agent/history/tokens.ts';

const unit = (n: number, size: number): Unit => ({
  first: n,
  last: n,
  kind: 'step',
  text: `step ${n}`,
  calls: [
    {
      id: `${n}`,
      name: 'execute_bash',
      input: { command: `do ${n}` },
      result: { text: 'x'.repeat(size), error: false },
    },
  ],
});

const partOf = (more: Partial<Part> = {}): Part => ({
  units: [1, 2, 3].map((n) => unit(n, 1_000)),
  former: null,
  room: { request: 4_000, summary: 200 },
  ...more,
});

/** What every condenser promises, whatever the model behind it does. `open` gives one for each fact. */
export function condenserFacts(name: string, open: () => Condenser): void {
  const run = (part: Part) => open().condense(part, new AbortController().signal);

  describe(`${name}: condenser`, () => {
    it('gives a text that fits, or none', async () => {
      const condensed = await run(partOf());
      assert.ok(condensed.ok);
      assert.ok(condensed.summary === null || condensed.summary !== '');
      assert.ok(tokensOfText(condensed.summary ?? '') <= 200);
    });

    it('does not lose what was summed up before', async () => {
      const condensed = await run(partOf({ former: 'the former' }));
      assert.ok(condensed.ok && condensed.summary !== null);
    });

    it('takes a part of any size, and one of nothing', async () => {
      for (const units of [[], [unit(1, 3_000_000)], Array.from({ length: 3_000 }, (_, n) => unit(n, 100))]) {
        const condensed = await run(partOf({ units }));
        assert.ok(condensed.ok);
      }
    });

    it('changes nothing of the part', async () => {
      const part = partOf();
      const before = structuredClone(part);
      await run(part);
      assert.deepEqual(part, before);
    });
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isTooDeep, MAX_DEPTH } from './nesting.ts';

const arrays = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('what is nested too deep is found wherever it stands, and however deep it is', () => {
  for (const shallow of [null, 7, 'text', {}, { a: [1, { b: null }] }, arrays(MAX_DEPTH)]) {
    assert.equal(isTooDeep(shallow), false);
  }
  for (const deep of [arrays(MAX_DEPTH + 1), arrays(200_000), { a: 1, b: [0, arrays(MAX_DEPTH)] }]) {
    assert.equal(isTooDeep(deep), true);
  }
});

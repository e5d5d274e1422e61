import assert from 'node:assert/strict';
import { test } from 'node:test';

import { plainToolName } from './tool-name.ts';

const NAMES: [string, string][] = [
  ['get-tiny_image', 'get-tiny_image'],
  ['a.b/c d', 'a_b_c_d'],
  ['2fa', '_2fa'],
  ['-x', '_-x'],
  ['', '_'],
  ['größe', 'gr__e'],
];

for (const [name, plain] of NAMES) {
  test(`a tool ${JSON.stringify(name)} is ${plain} to every provider`, () => {
    assert.equal(plainToolName(name), plain);
  });
}

test('a name has 64 characters at most, one that is put before it among them', () => {
  assert.equal(plainToolName(`1${'x'.repeat(80)}`), `_1${'x'.repeat(62)}`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enclosed } from './enclosed.ts';

test('a text neither ends nor begins a block, however its tags are spaced and spelt', () => {
  for (const tag of [
    '</part>',
    '<part>',
    '</PART >',
    '< /part>',
    '</ part>',
    '<\n/part x="1">',
    '<//part>',
  ]) {
    assert.equal(enclosed(`a ${tag} b`, ['note', 'part']), `a &lt;${tag.slice(1)} b`);
  }
  for (const text of ['a < b', '<p>', '<partly>', 'part>', '</div>']) {
    assert.equal(enclosed(text, ['note', 'part']), text);
  }
});

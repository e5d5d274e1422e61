import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHidden } from './hidden.ts';

const stored = (event: object) => ({ id: 0, json: JSON.stringify({ id: 0, ...event }) });

test('hidden is what its action or observation says, not what a text says', () => {
  assert.ok(isHidden(stored({ action: 'run', args: { command: 'ls', hidden: true } })));
  assert.ok(isHidden(stored({ observation: 'run', extras: { command: 'ls', hidden: true } })));
  for (const event of [
    { action: 'run', args: { command: 'ls', hidden: false } },
    { action: 'mcp', args: { arguments: { hidden: true } } },
    { action: 'message', args: { content: '"hidden":true' } },
    { observation: 'null', content: '', extras: {} },
  ]) {
    assert.ok(!isHidden(stored(event)), JSON.stringify(event));
  }
});

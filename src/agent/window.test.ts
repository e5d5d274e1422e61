import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';

import type { Unit } from './history.ts';
import { messagesShown, tokensOf, visible } from './window.ts';

const said = (n: number, length = 300): Unit => ({ kind: 'said', text: `${n}:`.padEnd(length, 'x') });
const user = (text: string): Unit => ({
  kind: 'user',
  context: null,
  messages: [
    {
      id: 0,
      timestamp: '',
      source: 'user',
      message: text,
      action: 'message',
      args: { content: text, file_urls: null, image_urls: null, wait_for_response: false, security_risk: -1 },
    },
  ],
});
const step = (n: number): Unit => ({
  kind: 'step',
  text: '',
  calls: [{ id: 'a', name: `call${n}`, input: {}, result: { text: 'x'.repeat(300), error: false } }],
});

test('what fits is shown whole', () => {
  const units = [user('do'), step(1), said(2)];
  assert.deepEqual(visible(units, 1_000), { units, left: 0 });
});

test('the oldest steps drop out first, the first and newest message of the user stay', () => {
  const units = [user('first'), step(1), user('middle'), step(2), step(3), user('last'), step(4)];
  const { units: kept, left } = visible(units, 330);
  assert.equal(left, 3);
  assert.deepEqual(kept, [units[0], units[2], units[5], units[6]]);
});

test('a call is never shown without its result', () => {
  const units = [user('do'), ...Array.from({ length: 30 }, (_, n) => step(n))];
  const messages = messagesShown(units, 1_000);
  const roles = messages.map(({ role }) => role);
  assert.equal(roles[0], 'user');
  for (let n = 1; n < roles.length; n += 2) assert.deepEqual(roles.slice(n, n + 2), ['assistant', 'tool']);
  assert.match(JSON.stringify(messages[0]), /\d+ older steps of this conversation are left out/);
});

const someUnits = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 2_000 }).map((length) => said(0, length)),
    fc.constant(null).map(() => step(0)),
    fc.string().map(user),
  ),
  { maxLength: 60 },
);

test('what is shown fits, unless the newest unit and the user alone do not', () => {
  fc.assert(
    fc.property(someUnits, fc.integer({ min: 100, max: 5_000 }), (rest, limit) => {
      const units = [user('begin'), ...rest];
      const shown = visible(units, limit).units;
      const total = shown.reduce((sum, unit) => sum + tokensOf(unit), 0);
      assert.equal(shown[0], units[0]);
      assert.equal(shown.at(-1), units.at(-1));
      assert.ok(total <= limit || shown.length <= 3);
    }),
  );
});

test('more units change the beginning of what is shown seldom: each time it shrinks by a good part', () => {
  const units = [user('do')];
  let changes = 0;
  let before = visible(units, 2_000).units;
  for (let n = 0; n < 200; n += 1) {
    units.push(step(n));
    const now = visible(units, 2_000).units;
    if (now.length !== before.length + 1) changes += 1;
    before = now;
  }
  assert.ok(changes < 40, `${changes} changes`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { userMessage } from '../../events/build.ts';
import type { Event } from '../../events/event.ts';
import type { Unit } from './history.ts';
import { cutText, tokensOfText } from './tokens.ts';
import type { UserMessageEvent } from './told.ts';
import { cutUnit, historyLimit, tokensOf } from './window.ts';
import { fc } from '../../../test/support/samples.ts';

const span = { first: 0, last: 0 };
const said = (text: string): Unit => ({ ...span, kind: 'said', text });
const user = (text: string): Unit => {
  const event = { id: 0, timestamp: '', ...userMessage(text) } as Event & UserMessageEvent;
  return { ...span, kind: 'user', context: null, messages: [event] };
};
const step = (...results: string[]): Unit => ({
  ...span,
  kind: 'step',
  text: '',
  calls: results.map((text, n) => ({
    id: `${n}`,
    name: 'call',
    input: { n },
    result: { text, error: false },
  })),
});

test('a text of any language has no more tokens than bytes and not too few', () => {
  assert.equal(tokensOfText('x'.repeat(300)), 100);
  assert.equal(tokensOfText('漢'.repeat(300)), 300);
  assert.equal(tokensOfText(''), 0);
});

test('what tools and instructions leave of three quarters of the window is for the history', () => {
  assert.equal(historyLimit(32_000, 4_000), 20_000);
  assert.equal(historyLimit(8_000, 6_000), 1_000);
});

test('a text that is cut fits, says where and how much, and keeps its beginning and end', () => {
  const cut = cutText(`begin ${'x'.repeat(9_000)} end`, 100, ': too long');
  assert.match(cut, /^begin x+\n\[… 8\d\d\d characters left out here: too long …\]\nx+ end$/);
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 600 }),
      fc.integer({ min: 40, max: 200 }),
      (text, tokens) => {
        const fitting = cutText(text, tokens);
        assert.ok(tokensOfText(fitting) <= tokens);
        if (tokensOfText(text) <= tokens) assert.equal(fitting, text);
      },
    ),
  );
});

test('a single observation larger than the window is cut, and that is said; what is small beside it stays whole', () => {
  const unit = step('small', 'x'.repeat(100_000));
  const cut = cutUnit(unit, 1_000);
  assert.ok(tokensOf(cut) <= 1_100, String(tokensOf(cut)));
  assert.ok(cut.kind === 'step');
  assert.equal(cut.calls[0]?.result?.text, 'small');
  assert.match(
    cut.calls[1]?.result?.text ?? '',
    /characters left out here: the model's window does not hold more/,
  );
  assert.equal(unit.kind === 'step' && unit.calls[1]?.result?.text.length, 100_000);
});

test('what fits is shown as it is', () => {
  for (const unit of [said('a'), user('b'), step('c', 'd')]) assert.equal(cutUnit(unit, 1_000), unit);
});

test('messages of the user and arguments of calls are cut too, and arguments stay what they were', () => {
  const long = 'y'.repeat(50_000);
  assert.ok(tokensOf(cutUnit(user(long), 500)) <= 510);
  const write: Unit = {
    ...span,
    kind: 'step',
    text: long,
    calls: [{ id: '1', name: 'edit', input: { path: 'a', list: [long, 3] }, result: null }],
  };
  const cut = cutUnit(write, 800);
  assert.ok(tokensOf(cut) <= 900, String(tokensOf(cut)));
  assert.ok(cut.kind === 'step');
  const [call] = cut.calls;
  assert.ok(call);
  const { path, list } = call.input as { path: string; list: unknown[] };
  assert.deepEqual([path, list[1], typeof list[0]], ['a', 3, 'string']);
});

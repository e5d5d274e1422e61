import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEstimate } from './estimate.ts';

test('an estimate is read in the form that was asked for, and in those that models give it', () => {
  const expected = { verdict: 'partly', reason: 'It says what fails.', missing: ['The version', 'A log'] };
  for (const answer of [
    'Solvable: partly\nIt says what fails.\n- The version\n- A log',
    '**Solvable:** Partly\n\nIt says what fails.\n\n* The version\n* A log\n',
    '## Solvable: *PARTLY*\nIt says what fails.\n  • The version\n  - A log',
  ]) {
    assert.deepEqual(readEstimate(answer), expected, answer);
  }
});

test('an answer of another form is kept as it is, and decides nothing', () => {
  assert.deepEqual(readEstimate(' I can not say. '), {
    verdict: 'unknown',
    reason: 'I can not say.',
    missing: [],
  });
  assert.equal(readEstimate('This is solvable: yes, I think').verdict, 'unknown');
});

test('an estimate is bounded', () => {
  const { reason, missing } = readEstimate(
    `Solvable: no\n${'- more\n'.repeat(500)}${'long '.repeat(10_000)}`,
  );
  assert.equal(missing.length, 20);
  assert.ok(reason.length <= 4_000);
});

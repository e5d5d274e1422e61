import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERRORS } from './errors.ts';

test('docs/errors.md lists every error with its status, and no other', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \| (yes|no) \| \S/gm)].map((row) =>
    row.slice(1, 4),
  );
  const known = Object.entries(ERRORS).map(([code, { status, retryable }]) => [
    code,
    String(status),
    retryable ? 'yes' : 'no',
  ]);
  assert.deepEqual(rows, known);
});

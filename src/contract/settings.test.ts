import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { settingsMembers } from './settings.ts';

test('docs/settings.md lists every member with what it means, and no other', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  const [members = ''] = page.split('\n## ', 1);
  const rows = [...members.matchAll(/^\| `(\w+)` \| [^|]+ \| (.+) \|$/gm)].map((row) => [row[1], row[2]]);
  const known = Object.entries(settingsMembers).map(([name, member]) => [name, member.description]);
  assert.deepEqual(rows, known);
});

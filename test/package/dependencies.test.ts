import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

test('docs/dependencies.md has a line for each runtime dependency, and for no other', async () => {
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const page = await readFile(join(root, 'docs/dependencies.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `([^`]+)` \| .{20,} \|$/gm)].map(([, name]) => name);
  assert.deepEqual(listed, Object.keys(dependencies).toSorted());
});

/** docs/effects.md says what each member of the interface does, and which test shows it: held to the contract and to the tests. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { conversationBody } from '../../src/contract/conversations.ts';
import { providerTokensBody } from '../../src/contract/providers.ts';
import { settingsBody } from '../../src/contract/settings.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const CONTRACT = {
  Settings: settingsBody,
  Conversations: conversationBody,
  'Provider tokens': providerTokensBody,
};

/** Members that are stored and checked, and whose effect is not built yet: sandboxes in containers and on other hosts. */
const NOT_YET: Readonly<Record<string, readonly string[]>> = {
  Settings: ['sandbox_base_container_image', 'sandbox_runtime_container_image', 'sandbox_api_key'],
};

interface Row {
  member: string;
  effect: string;
  shown: string;
}

const text = readFileSync(join(DOCS, 'effects.md'), 'utf8');
const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0] ?? '', rowsOf(section)]),
);

function rowsOf(section: string): Row[] {
  return [...section.matchAll(/^\| `([^`]+)` \|(.*)\|(.*)\|$/gm)].map(
    ([, member = '', effect = '', shown = '']) => ({ member, effect: effect.trim(), shown: shown.trim() }),
  );
}

/** The tests that a cell names, each as `[file](path): “name”`. */
function testsIn(shown: string): { path: string; name: string }[] {
  return [...shown.matchAll(/\[[^\]]+\]\(([^)]+)\): “([^”]+)”/g)].map(([, path = '', name = '']) => ({
    path,
    name,
  }));
}

function isTestIn(path: string, name: string): boolean {
  const file = join(DOCS, path);
  if (!existsSync(file)) return false;
  const quoted = ["'", '"', '`'].map((quote) => `(${quote}${name}${quote}`);
  const source = readFileSync(file, 'utf8');
  return quoted.some((call) => ['it', 'test', 'describe'].some((word) => source.includes(word + call)));
}

describe('the table of effects', () => {
  for (const [section, schema] of Object.entries(CONTRACT)) {
    it(`has one row for each member: ${section}`, () => {
      const members = (sections.get(section) ?? []).map(({ member }) => member);
      assert.deepEqual(members, Object.keys(schema.shape));
    });
  }

  it('names in each row tests that are there, or says that the effect follows', () => {
    for (const [section, rows] of sections) {
      const due = rows.filter(({ shown }) => shown.startsWith('Follows'));
      assert.deepEqual(
        due.map(({ member }) => member),
        NOT_YET[section] ?? [],
        section,
      );
      for (const { member, effect, shown } of rows) {
        assert.notEqual(effect, '', member);
        if (due.some((row) => row.member === member)) continue;
        const tests = testsIn(shown);
        assert.ok(tests.length > 0, `${section}, ${member}: names no test`);
        for (const { path, name } of tests) assert.ok(isTestIn(path, name), `${member}: ${path}: ${name}`);
      }
    }
  });

  it('names tests that are there, wherever it names some', () => {
    for (const { path, name } of testsIn(text)) assert.ok(isTestIn(path, name), `${path}: ${name}`);
  });

  it('tells tests that are there from others', () => {
    const own = '../test/contract/effects.test.ts';
    assert.ok(isTestIn(own, 'tells tests that are there from others'));
    assert.ok(!isTestIn(own, 'tells tests'));
    assert.ok(!isTestIn('../test/contract/none.test.ts', 'the table of effects'));
  });
});

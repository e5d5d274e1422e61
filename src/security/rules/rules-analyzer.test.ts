import assert from 'node:assert/strict';
import { test } from 'node:test';

import { strReplaceEditor } from '../../agent/tools/editor.ts';
import { runAction } from '../../agent/tools/shell.ts';
import type { NewAction } from '../../events/event.ts';
import { RulesAnalyzer } from './rules-analyzer.ts';

const rules = new RulesAnalyzer();
const at = (cwd: string | null) => ({ root: '/workspace', cwd });

function edited(input: object): number {
  const understood = strReplaceEditor.understand(input, '');
  assert.ok(understood.ok);
  return rules.rate(understood.action, at(null)).risk;
}

function mcp(name: string): NewAction {
  return {
    source: 'agent',
    message: '',
    action: 'call_tool_mcp',
    args: { name, arguments: {}, thought: '', security_risk: -1 },
  };
}

test('files are rated by where they are', () => {
  const create = { command: 'create', file_text: 'x' };
  assert.equal(edited({ ...create, path: '/workspace/a/b.ts' }), 0);
  assert.equal(edited({ ...create, path: '/workspace/../etc/passwd' }), 2);
  assert.equal(edited({ ...create, path: '/workspace/.git/hooks/pre-commit' }), 2);
  assert.equal(edited({ command: 'view', path: '/workspace/a/b.ts' }), 0);
  assert.equal(edited({ command: 'view', path: '/home/agent/.ssh/id_ed25519' }), 2);
});

test('tools of MCP servers are rated by what their names say', () => {
  const risks = ['search_issues', 'getUser', 'delete_repository', 'createAndPublish', 'frobnicate'].map(
    (name) => rules.rate(mcp(name), at(null)).risk,
  );
  assert.deepEqual(risks, [0, 0, 2, 2, 1]);
});

test('a path is held against the directory where the last command left the shell', () => {
  const remove = runAction('rm -rf lib', '');
  assert.equal(rules.rate(remove, at(null)).risk, 1);
  assert.equal(rules.rate(remove, at('/workspace/app')).risk, 1);
  assert.equal(rules.rate(remove, at('/usr')).risk, 2);
});

test('a command that is made to exhaust the parser is HIGH', () => {
  for (const command of [
    '$('.repeat(5_000),
    'f; '.repeat(5_000),
    `${'env '.repeat(5_000)}ls`,
    'x'.repeat(200_000),
  ]) {
    assert.equal(rules.rate(runAction(command, ''), at(null)).risk, 2, command.slice(0, 20));
  }
});

test('a command that is made to be read for ever is rated all the same', () => {
  const open = ';s/'.repeat(30_000);
  assert.equal(rules.rate(runAction(`sed '${open}' a.txt`, ''), at(null)).risk, 0);
  assert.equal(rules.rate(runAction(`cat .${'*a'.repeat(10_000)}`, ''), at(null)).risk, 0);
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { isObservation } from '../../events/event.ts';
import { problem, Workshop } from '../../../test/support/agent/act.ts';
import { glob, grep } from './search.ts';
import { taskTracker } from './task-tracker.ts';
import { think } from './think.ts';
import { toolsShown, TOOLBOX } from './toolbox.ts';
import type { Tool } from './tool.ts';

test('the tools have the names that V0 has', () => {
  const names = (tools: readonly Tool[]) => tools.map(({ name }) => name);
  assert.deepEqual(names(TOOLBOX.CodeActAgent), [
    'execute_bash',
    'str_replace_editor',
    'think',
    'task_tracker',
    'finish',
  ]);
  assert.deepEqual(names(TOOLBOX.ReadOnlyAgent), ['grep', 'glob', 'view', 'think', 'finish']);
});

test('every tool is shown as a function with an object of parameters', () => {
  for (const shown of [...toolsShown(TOOLBOX.CodeActAgent), ...toolsShown(TOOLBOX.ReadOnlyAgent)]) {
    const { type, function: fn } = shown as { type: string; function: { parameters: { type: string } } };
    assert.equal(type, 'function');
    assert.equal(fn.parameters.type, 'object');
  }
});

test('a thought is noted', async () => {
  const answer = await new Workshop().call(think, { thought: 'hm' });
  assert.equal(answer.content, 'Your thought has been logged.');
});

test('the task list is what the last plan made it', async () => {
  const shop = new Workshop();
  assert.match((await shop.call(taskTracker, { command: 'view' })).content, /no tasks yet/);
  const list = [
    { id: '1', title: 'read', status: 'done' },
    { id: '2', title: 'write', status: 'in_progress', notes: 'slowly' },
  ];
  const planned = await shop.call(taskTracker, { command: 'plan', task_list: list });
  assert.ok(isObservation(planned, 'task_tracking'));
  assert.deepEqual(planned.extras.task_list[0], { id: '1', title: 'read', status: 'done', notes: '' });
  const viewed = await shop.call(taskTracker, { command: 'view' });
  assert.equal(viewed.content, '[x] 1: read\n[~] 2: write (slowly)');
  assert.match(problem(taskTracker, { command: 'plan' }), /task_list/);
  assert.match(
    problem(taskTracker, { command: 'plan', task_list: [{ id: '1', title: 'x', status: 'doing' }] }),
    /status/,
  );
});

/** The command that a search becomes, run by a real bash. */
async function searched(tool: Tool, input: object): Promise<string> {
  const understood = tool.understand(input, '');
  assert.ok(understood.ok && understood.action.action === 'run');
  const { stdout } = await promisify(execFile)('bash', ['-c', understood.action.args.command]);
  return stdout;
}

test('grep and glob find what they should, and run nothing that a pattern names', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-search-'));
  t.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, 'src/deep dir'), { recursive: true });
  await writeFile(join(directory, 'src/a.ts'), "const it's = 1;\n");
  await writeFile(join(directory, 'src/deep dir/b.ts'), 'const b = 2;\n');
  await writeFile(join(directory, 'c.md'), 'const c\n');

  assert.equal(
    await searched(grep, { pattern: 'const (b|c)', path: directory, include: '*.ts' }),
    `${directory}/src/deep dir/b.ts:1:const b = 2;\n`,
  );
  assert.match(await searched(grep, { pattern: "it's", path: directory }), /a\.ts:1:/);
  assert.equal(
    await searched(glob, { pattern: '**/*.ts', path: directory }),
    'src/a.ts\nsrc/deep dir/b.ts\n',
  );
  assert.equal(await searched(glob, { pattern: 'src/deep dir/*', path: directory }), 'src/deep dir/b.ts\n');
  await searched(glob, { pattern: '$(touch harm) `touch harm`; touch harm', path: directory });
  assert.equal(await searched(glob, { pattern: 'harm', path: directory }), '');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isObservation } from '../../events/event.ts';
import { problem, Workshop } from '../../../test/support/agent/act.ts';
import { executeBash } from './shell.ts';

test('a command gives its output and V0 metadata', async () => {
  const shop = new Workshop();
  shop.sandbox.exec_ = () => ({ output: 'a\n', exitCode: 3, cwd: '/workspace/app' });
  const answer = await shop.call(executeBash, { command: 'ls', security_risk: 'LOW' });
  assert.ok(isObservation(answer, 'run'));
  assert.equal(answer.content, 'a\n');
  assert.equal(answer.success, false);
  assert.equal(answer.message, 'Command `ls` executed with exit code 3.');
  assert.deepEqual(answer.extras, {
    command: 'ls',
    hidden: false,
    metadata: {
      exit_code: 3,
      pid: -1,
      username: 'agent',
      hostname: 'sandbox',
      working_dir: '/workspace/app',
      py_interpreter_path: null,
      prefix: '',
      suffix: '\n[Exit code 3, now in /workspace/app]',
    },
  });
});

test('standard input and time-out reach the sandbox; without them 120 seconds and nothing', async () => {
  const shop = new Workshop();
  await shop.call(executeBash, { command: 'cat', stdin: 'in', timeout: 1.5 });
  await shop.call(executeBash, { command: 'cat' });
  assert.deepEqual(
    shop.sandbox.options.map(({ input, timeoutMs }) => ({ input, timeoutMs })),
    [
      { input: 'in', timeoutMs: 1_500 },
      { input: undefined, timeoutMs: 120_000 },
    ],
  );
});

test('a command that took too long has exit code -1 and says what to do', async () => {
  const shop = new Workshop();
  shop.sandbox.exec_ = () => ({ kind: 'timed_out', output: 'half', exitCode: 137 });
  const answer = await shop.call(executeBash, { command: 'sleep 9', timeout: 2 });
  assert.ok(isObservation(answer, 'run'));
  assert.equal(answer.extras.metadata.exit_code, -1);
  assert.equal(answer.content, 'half');
  assert.match(answer.extras.metadata.suffix, /still ran after 2 seconds/);
});

test('a lost sandbox is an observation with its reason', async () => {
  const shop = new Workshop();
  shop.sandbox.exec_ = () => ({ kind: 'lost', reason: 'out of memory', exitCode: -1 });
  const answer = await shop.call(executeBash, { command: 'make' });
  assert.ok(isObservation(answer, 'run'));
  assert.match(answer.content, /out of memory.*fresh one/);
  shop.sandbox.exec_ = () => ({ kind: 'lost', reason: 'It was killed.', exitCode: -1 });
  const again = await shop.call(executeBash, { command: 'make' });
  assert.ok(isObservation(again, 'run'));
  assert.match(again.content, /It was killed\. The next/);
});

test('long output keeps its beginning and end, and says how much is missing', async () => {
  const shop = new Workshop();
  shop.sandbox.exec_ = () => ({ output: `begin${'x'.repeat(100_000)}end` });
  const { content } = await shop.call(executeBash, { command: 'yes' });
  assert.ok(content.length <= 30_000);
  assert.match(content, /^beginx+\n\[… \d+ characters left out here …\]\nx+end$/);
});

test('input to a running program, an empty command and one with NUL are told what is wrong', async () => {
  assert.match(problem(executeBash, { command: 'y', is_input: 'true' }), /standard input of its own/);
  assert.match(problem(executeBash, { command: ' ' }), /empty/);
  assert.match(problem(executeBash, { command: 'ls', timeout: 0 }), /timeout/);
  const answer = await new Workshop().call(executeBash, { command: 'echo \0' });
  assert.equal(answer.observation, 'error');
});

test('is_input as V0 models write it is taken when it is false', async () => {
  const shop = new Workshop();
  await shop.call(executeBash, { command: 'ls', is_input: 'false' });
  assert.deepEqual(shop.sandbox.commands, ['ls']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { STOPPED } from '../../events/not-done.ts';
import { readRecording, type ReplayStep } from './recording.ts';
import { fc } from '../../../test/support/samples.ts';

const user = (content: string, more: object = {}) => ({
  source: 'user',
  action: 'message',
  args: { content, ...more },
});
const agent = (action: string, args: object, more: object = {}) => ({
  source: 'agent',
  action,
  args,
  ...more,
});

function steps(events: unknown): ReplayStep[] {
  const read = readRecording(JSON.stringify(events));
  assert.ok(read.ok, JSON.stringify(read));
  return read.steps;
}

const kinds = (events: unknown): string[] =>
  steps(events).map((step) => (step.kind === 'call' ? step.call.name : step.kind));

test('only what was done is kept: observations, states and what each run has of its own are not', () => {
  const events = [
    { source: 'environment', observation: 'agent_state_changed', extras: { agent_state: 'loading' } },
    agent('system', { content: 'You are…' }),
    user('hi'),
    { source: 'environment', action: 'change_agent_state', args: { agent_state: 'running' } },
    { source: 'user', action: 'recall', args: { query: 'hi' } },
    { source: 'environment', observation: 'recall', content: '' },
    agent('run', { command: 'ls', thought: 'look' }, { timeout: 7200 }),
    { source: 'agent', observation: 'run', cause: 5, content: 'a' },
    agent('condensation', { summary: 's' }),
    { source: 'environment', action: 'run', args: { command: 'setup', hidden: true } },
    { source: 'agent', observation: 'null', content: '' },
    agent('finish', { final_thought: 'done' }),
  ];
  assert.deepEqual(steps(events), [
    { kind: 'user', content: 'hi', imageUrls: [], fileUrls: null },
    {
      kind: 'call',
      call: { name: 'execute_bash', input: { command: 'ls', timeout: 3600 } },
      thought: 'look',
    },
    { kind: 'call', call: { name: 'finish', input: { message: 'done' } }, thought: '' },
  ]);
  assert.deepEqual(steps({ trajectory: events }), steps(events));
});

test('members that are null were not given', () => {
  const args = {
    path: '/workspace/a',
    command: 'create',
    file_text: 'x',
    old_str: null,
    insert_line: null,
    start: 1,
  };
  const [, step] = steps([user('go'), agent('edit', args)]);
  assert.ok(step?.kind === 'call');
  assert.deepEqual(step.call.input, { command: 'create', path: '/workspace/a', file_text: 'x' });
});

test('a message of the agent waits only at the end', () => {
  const said = steps([
    user('1+1?'),
    agent('message', { content: '2' }),
    user('thanks'),
    agent('message', { content: 'bye' }),
  ]);
  assert.deepEqual(
    said.map((step) => (step.kind === 'said' ? step.waits : null)),
    [null, false, null, true],
  );
});

test('what was not done in the recording is not done again', () => {
  const events = [
    user('go'),
    agent('run', { command: 'stopped' }, { id: 7 }),
    {
      source: 'environment',
      observation: 'error',
      cause: 7,
      extras: { error_id: STOPPED },
    },
    agent('run', { command: 'asked', confirmation_state: 'awaiting_confirmation' }),
    agent('run', { command: 'asked', confirmation_state: 'confirmed' }),
    agent('run', { command: 'no', confirmation_state: 'rejected' }),
    agent('finish', {}),
    agent('run', { command: 'after the end' }),
    user('more'),
    agent('think', { thought: 'hm' }),
  ];
  assert.deepEqual(kinds(events), ['user', 'execute_bash', 'finish', 'user', 'think']);
});

test("the user's own actions are done where they were done, not where they were asked for", () => {
  const own = (id: number, command: string) => ({ id, source: 'user', action: 'run', args: { command } });
  const answer = (cause: number) => ({ source: 'agent', observation: 'run', cause, content: '' });
  const events = [
    own(0, 'before a word'),
    answer(0),
    user('go'),
    agent('run', { command: 'first' }, { id: 1 }),
    own(2, 'between'),
    answer(1),
    agent('run', { command: 'second' }, { id: 3 }),
    answer(3),
    answer(2),
    agent('finish', {}, { id: 4 }),
    agent('run', { command: 'after the end' }),
    own(5, 'at rest'),
    answer(5),
    own(6, 'at rest, too'),
    answer(6),
    user('more'),
    own(7, 'stopped'),
    { source: 'environment', observation: 'error', cause: 7, extras: { error_id: STOPPED } },
    agent('message', { content: 'Well?' }),
    own(8, 'at the end'),
    answer(8),
  ];
  assert.deepEqual(
    steps(events).map((step) =>
      step.kind === 'call' ? (step.call.input['command'] ?? 'finish') : step.kind,
    ),
    [
      'user',
      'before a word',
      'first',
      'second',
      'between',
      'at rest',
      'at rest, too',
      'finish',
      'user',
      'at the end',
      'said',
    ],
  );
  const last = steps(events).at(-1);
  assert.ok(last?.kind === 'said' && last.waits);
});

test('who says that it is done ends the run, as the agent does', () => {
  const end = { source: 'user', action: 'finish', args: {}, inert: true };
  const run = agent('run', { command: 'ls' });
  assert.deepEqual(
    kinds([end, user('go'), run, end, user('more'), agent('message', { content: 'So.' }), end]),
    ['user', 'execute_bash', 'finish', 'user', 'said', 'finish'],
  );
  const rejected = { ...end, action: 'reject' };
  assert.deepEqual(kinds([rejected, user('go'), run, rejected]), ['user', 'execute_bash', 'finish']);
  assert.deepEqual(kinds([user('go'), agent('reject', { outputs: {} }), run]), ['user', 'finish']);
});

test('an action of another kind is named, to be left out', () => {
  assert.deepEqual(steps([user('go'), agent('browse', { url: 'http://x' })])[1], {
    kind: 'unknown',
    action: 'browse',
  });
});

test('what cannot be replayed says why', () => {
  const problem = (text: string) => {
    const read = readRecording(text);
    return read.ok ? null : read.problem;
  };
  for (const text of ['', '{', '1', 'null', '"x"', '[1]', '{}', '{"trajectory":{}}']) {
    assert.match(problem(text) ?? '', /JSON array of events/, text);
  }
  assert.match(
    problem(JSON.stringify([agent('run', { command: 'ls' })])) ?? '',
    /begin with a message of the user/,
  );
  const deep = `{"command":"plan","task_list":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
  assert.match(
    problem(`[${JSON.stringify(user('go'))},{"source":"agent","action":"task_tracking","args":${deep}}]`) ??
      '',
    /nested deeper than 100 levels/,
  );
  assert.equal(problem('[]'), null);
});

test('images are taken only in the forms that a message may have them', () => {
  const [step] = steps([user('look', { image_urls: ['file:///etc/passwd'] })]);
  assert.deepEqual(step?.kind === 'user' && step.imageUrls, []);
});

test('whatever is sent, it is read or refused', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.dictionary(
          fc.constantFrom('source', 'action', 'args', 'id', 'cause', 'observation', 'extras'),
          fc.jsonValue(),
        ),
      ),
      (events) => {
        const read = readRecording(JSON.stringify(events));
        assert.equal(typeof read.ok, 'boolean');
      },
    ),
  );
});

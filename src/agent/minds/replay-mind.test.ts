import assert from 'node:assert/strict';
import { test } from 'node:test';

import { stateChanged, userMessage } from '../../events/build.ts';
import { isAction, isObservation, type NewEvent } from '../../events/event.ts';
import { Crash, FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import type { Scripted } from '../../../test/support/agent/fake-model.ts';
import { bash, edit, finish, Stage } from '../../../test/support/agent/stage.ts';
import type { AgentContext } from '../context.ts';
import { openingOf } from '../opening.ts';
import { readRecording } from '../replay/recording.ts';

/** A stage whose conversation begins with a recording. */
function replaying(events: readonly unknown[], script: Scripted[] = []) {
  const replay_json = JSON.stringify(events);
  const read = readRecording(replay_json);
  assert.ok(read.ok);
  const stage = new Stage(script, null);
  const { message } = openingOf('abc', { replay_json });
  assert.ok(message);
  stage.log.append([stateChanged('loading'), message]);
  const run = (more: Partial<AgentContext> = {}) => stage.run({ replay: read.steps, model: null, ...more });
  return { stage, run };
}

async function recordingOf(script: Scripted[], says = 'Do it.') {
  const stage = new Stage(script, says);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  return stage;
}

/**
 * What was done and what came of it, without what every run has of its own. Calls that were made at once are made one
 * after the other when they are replayed.
 */
function deeds({ log }: Stage) {
  const own = ['system', 'recall', 'agent_state_changed'];
  return {
    actions: log.events.flatMap((event) =>
      'action' in event && !own.includes(event.action) ? [[event.source, event.action, event.args]] : [],
    ),
    results: log.events.flatMap((event) =>
      'observation' in event && !own.includes(event.observation) ? [[event.observation, event.content]] : [],
    ),
  };
}

const SCRIPT = [
  { text: 'First look.', calls: [bash('one', { timeout: 5 }), bash('two')] },
  { calls: [edit({ command: 'create', path: '/workspace/a.txt', file_text: 'a\n' })] },
  {
    calls: [edit({ command: 'view', path: '/workspace/a.txt' }), { name: 'think', input: { thought: 'hm' } }],
  },
  {
    calls: [
      {
        name: 'task_tracker',
        input: { command: 'plan', task_list: [{ id: '1', title: 't', status: 'done' }] },
      },
    ],
  },
  { text: 'So.', calls: [bash('four'), finish('All done.')] },
];

test('a run that finished is replayed without a model, and ends the same', async () => {
  const recorded = await recordingOf(SCRIPT);
  const { stage, run } = replaying(recorded.log.events);
  assert.deepEqual(await run(), { kind: 'finished' });
  assert.deepEqual(deeds(stage), deeds(recorded));
  assert.deepEqual(stage.sandbox.commands, ['one', 'two', 'four']);
  assert.equal(stage.sandbox.files.text('/workspace/a.txt'), 'a\n');
  assert.equal(stage.sandbox.options[0]?.timeoutMs, 5_000);
  assert.equal(stage.story().at(-1), 'state finished');
  assert.ok(stage.log.actions().every((event) => event.llm_metrics === undefined));
});

test('what was replayed can be recorded and replayed again', async () => {
  const first = await recordingOf(SCRIPT);
  const second = replaying(first.log.events);
  await second.run();
  const third = replaying(second.stage.log.events);
  assert.deepEqual(await third.run(), { kind: 'finished' });
  assert.deepEqual(deeds(third.stage), deeds(first));
});

const message = (source: string, content: string) => ({ source, action: 'message', args: { content } });
const does = (action: string, args: object) => ({ source: 'agent', action, args });

test('messages stand in their places, and the agent waits only for the last', async () => {
  const { stage, run } = replaying([
    message('user', '1+1?'),
    message('agent', '2'),
    message('user', 'And 2+2?'),
    message('agent', '4'),
  ]);
  assert.deepEqual(await run(), { kind: 'waiting' });
  const texts = stage.log.events.flatMap((event) => (isAction(event, 'message') ? [event.args.content] : []));
  assert.deepEqual(texts, ['1+1?', '2', 'And 2+2?', '4']);
  assert.equal(stage.story().at(-1), 'state awaiting_user_input');
  assert.equal(stage.story().filter((one) => one === 'state awaiting_user_input').length, 1);
});

test('a conversation that was taken up after its end is replayed beyond it', async () => {
  const recorded = await recordingOf([
    { calls: [finish('One.')] },
    { calls: [bash('more'), finish('Two.')] },
  ]);
  recorded.log.append([userMessage('More.')]);
  await recorded.run();
  const { stage, run } = replaying(recorded.log.events);
  assert.deepEqual(await run(), { kind: 'finished' });
  assert.deepEqual(deeds(stage), deeds(recorded));
});

test('an action that no tool of the agent does is left out, and that is said', async () => {
  const { stage, run } = replaying([
    message('user', 'go'),
    does('browse', { url: 'http://x' }),
    does('finish', {}),
  ]);
  assert.deepEqual(await run(), { kind: 'finished' });
  assert.match(
    JSON.stringify(stage.log.events),
    /The recording has the action \\"browse\\", which no tool of the agent does/,
  );
});

test('arguments that are wrong are told, and what follows is done', async () => {
  const { stage, run } = replaying([
    message('user', 'go'),
    does('run', { command: 7 }),
    does('edit', { path: 'relative' }),
    does('run', { command: 'good' }),
    does('finish', { final_thought: 'ok' }),
  ]);
  assert.deepEqual(await run(), { kind: 'finished' });
  assert.deepEqual(stage.sandbox.commands, ['good']);
  assert.equal(stage.log.events.filter((event) => isObservation(event, 'error')).length, 2);
});

test('then the agent goes on, and the model is told what was done', async () => {
  const { stage, run } = replaying(
    [message('user', 'go'), does('run', { command: 'ls' })],
    [{ text: '' }, { calls: [finish()] }],
  );
  assert.deepEqual(await run({ model: stage.model.runModel }), { kind: 'finished' });
  assert.equal(stage.model.prompts.length, 1);
  const [prompt] = stage.model.prompts;
  assert.deepEqual(
    prompt?.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool'],
  );
  assert.match(JSON.stringify(prompt), /ran ls/);
});

test('without a model the agent says what to store when it has to go on', async () => {
  const { run } = replaying([message('user', 'go'), does('run', { command: 'ls' })]);
  const outcome = await run();
  assert.ok(outcome.kind === 'failed' && outcome.code === 'model_not_configured');
});

test('the limit of steps holds, and a message goes on where the replay stood', async () => {
  const { stage, run } = replaying([
    message('user', 'go'),
    ...['a', 'b', 'c'].map((command) => does('run', { command })),
    does('finish', {}),
  ]);
  const outcome = await run({ maxIterations: 2 });
  assert.ok(outcome.kind === 'failed' && outcome.code === 'iterations_exhausted');
  assert.deepEqual(stage.sandbox.commands, ['a', 'b']);
  assert.deepEqual(await run({ iterationsFrom: 2, maxIterations: 3 }), { kind: 'finished' });
  assert.deepEqual(stage.sandbox.commands, ['a', 'b', 'c']);
});

test('a message during the replay is taken up when it is over', async () => {
  const { stage, run } = replaying(
    [message('user', 'go'), does('run', { command: 'a' }), does('run', { command: 'b' }), does('finish', {})],
    [...Array.from({ length: 3 }, () => ({ text: '' })), { calls: [finish('Heard.')] }],
  );
  stage.sandbox.exec_ = (command) => {
    if (command === 'a') stage.log.append([userMessage('By the way.')]);
    return {};
  };
  assert.deepEqual(await run({ model: stage.model.runModel }), { kind: 'finished' });
  assert.deepEqual(stage.sandbox.commands, ['a', 'b']);
  assert.equal(stage.model.prompts.length, 1);
  assert.match(JSON.stringify(stage.model.prompts[0]?.at(-1)), /By the way/);
});

test('a stop leaves the replay where it is, and a start goes on', async () => {
  const { stage, run } = replaying([
    message('user', 'go'),
    does('run', { command: 'a' }),
    does('run', { command: 'b' }),
    does('finish', {}),
  ]);
  stage.sandbox.exec_ = () => {
    stage.abort.abort();
    return { kind: 'interrupted', exitCode: 130 };
  };
  assert.deepEqual(await run(), { kind: 'aborted' });
  stage.sandbox.exec_ = () => ({});
  assert.deepEqual(await run({ signal: new AbortController().signal }), { kind: 'finished' });
  assert.deepEqual(stage.sandbox.commands, ['a', 'b']);
});

test('who only reads, only reads in a replay too', async () => {
  const { stage, run } = replaying([
    message('user', 'go'),
    does('edit', { command: 'create', path: '/workspace/x', file_text: 'x' }),
    does('read', { path: '/workspace/a' }),
    does('finish', {}),
  ]);
  stage.sandbox.files.put('/workspace/a', 'seen\n');
  assert.deepEqual(await run({ agent: 'ReadOnlyAgent' }), { kind: 'finished' });
  assert.equal(stage.sandbox.files.text('/workspace/x'), undefined);
  assert.match(JSON.stringify(stage.log.events), /seen/);
});

const recorded = await recordingOf(SCRIPT);
const whole = replaying(recorded.log.events);
const journal = new FakeJournal(whole.stage.log);
await whole.run({ journal });

for (const stored of [false, true]) {
  for (let at = 0; at < journal.writes; at += 1) {
    test(`a crash ${stored ? 'after' : 'at'} write ${at} of a replay loses nothing and repeats nothing`, async () => {
      const { stage, run } = replaying(recorded.log.events);
      await assert.rejects(run({ journal: new FakeJournal(stage.log, { crash: { at, stored } }) }), Crash);
      assert.deepEqual(await run(), { kind: 'finished' });
      const actions = (events: readonly NewEvent[]) =>
        events.flatMap((event) =>
          'action' in event && event.source === 'agent' && event.action !== 'system'
            ? [[event.action, event.args]]
            : [],
        );
      assert.deepEqual(actions(stage.log.events), actions(recorded.log.events));
      const { commands } = stage.sandbox;
      assert.equal(new Set(commands).size, commands.length, 'no command ran twice');
      assert.equal(stage.log.open.size, 0);
    });
  }
}

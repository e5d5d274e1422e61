import assert from 'node:assert/strict';
import { test } from 'node:test';

import { agentMessage, userMessage } from '../events/build.ts';
import { isObservation, type NewEvent } from '../events/event.ts';
import { Crash, FakeJournal } from '../../test/support/agent/fake-journal.ts';
import { bash, finish, Stage } from '../../test/support/agent/stage.ts';
import type { Scripted } from '../../test/support/agent/fake-model.ts';
import { StuckWatch } from './stuck.ts';

const times = (n: number, ...steps: Scripted[]): Scripted[] => Array.from({ length: n }, () => steps).flat();
const step = (command: string): Scripted => ({ calls: [bash(command)] });

function warnings(stage: Stage): number {
  return stage.log.events.filter(
    (event) => isObservation(event, 'error') && event.content.includes('repeated'),
  ).length;
}

/** How many steps the model was asked for until it was warned, and until the end; null when it came to neither. */
async function tries(script: Scripted[], exec?: (command: string) => object) {
  const stage = new Stage([...script, { calls: [finish()] }]);
  if (exec) stage.sandbox.exec_ = exec;
  const outcome = await stage.run();
  const warned = stage.model.prompts.findIndex((prompt) =>
    JSON.stringify(prompt).includes('The last steps repeated'),
  );
  return { outcome, stage, warned: warned === -1 ? null : warned, asked: stage.model.prompts.length };
}

test('the same action with the same result is told after four times, and ends after eight', async () => {
  const { outcome, stage, warned, asked } = await tries(times(9, step('ls')));
  assert.deepEqual([warned, asked, warnings(stage)], [4, 8, 1]);
  assert.ok(outcome.kind === 'failed');
  assert.equal(outcome.code, 'agent_stuck');
  assert.match(outcome.hint, /message/);
  const last = stage.log.events.at(-1);
  assert.ok(last && isObservation(last, 'agent_state_changed'));
  assert.deepEqual(last.extras, {
    agent_state: 'error',
    reason: 'AgentStuckInLoopError: Agent got stuck in a loop',
  });
});

test('the same action with another result each time is none of it', async () => {
  let n = 0;
  const { outcome, warned } = await tries(times(12, step('ls')), () => ({ output: `${(n += 1)}` }));
  assert.deepEqual([outcome.kind, warned], ['finished', null]);
});

test('the same action with the same result is not the same when it thinks otherwise of another one between', async () => {
  const { warned } = await tries(times(2, step('a'), step('a'), step('b'), step('b'), step('c')));
  assert.equal(warned, null);
});

test('a thought does not make an action another one', async () => {
  const thinking = Array.from({ length: 5 }, (_, n) => ({
    text: `Now for the ${n}th time.`,
    calls: [bash('ls')],
  }));
  assert.equal((await tries(thinking)).warned, 4);
});

test('two actions in turn are told after six', async () => {
  const { warned, asked, outcome } = await tries(times(7, step('ls'), step('pwd')));
  assert.deepEqual([warned, asked, outcome.kind], [6, 12, 'failed']);
});

test('the same call that is wrong is told after three times, even when its error differs', async () => {
  const wrong = { calls: [{ name: 'execute_bash', input: '{"command": "tor' }] };
  assert.deepEqual((await tries(times(7, wrong))).warned, 3);
});

test('one error after the other is told after eight, whatever is tried', async () => {
  const wrong = Array.from({ length: 10 }, (_, n) => ({ calls: [{ name: `tool${n}`, input: {} }] }));
  assert.equal((await tries(wrong)).warned, 8);
});

test('who finds a way after the warning is not ended by it', async () => {
  const { outcome, stage } = await tries([
    ...times(4, step('ls')),
    step('find'),
    step('cat a'),
    step('cat b'),
  ]);
  assert.deepEqual([outcome.kind, warnings(stage)], ['finished', 1]);
});

test('a warning is forgotten after many steps that went on', async () => {
  const on = Array.from({ length: 20 }, (_, n) => step(`step ${n}`));
  const { outcome, stage } = await tries([...times(4, step('ls')), ...on, ...times(4, step('ls'))]);
  assert.deepEqual([outcome.kind, warnings(stage)], ['finished', 2]);
});

test('a message of the user goes on, with as many tries again', async () => {
  const { stage } = await tries(times(8, step('ls')));
  stage.log.append([userMessage('Try git status.')]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
});

test('a start goes on too', async () => {
  const { stage } = await tries(times(8, step('ls')));
  assert.deepEqual(await stage.run(), { kind: 'finished' });
});

test('messages of the agent without the user are told after three that are the same', () => {
  const watch = new StuckWatch();
  const add = (event: NewEvent) => watch.add({ id: 1, timestamp: '', ...event });
  for (const said of ['Well.', 'Well.', 'Well?', 'Well.', 'Well.']) add(agentMessage(said));
  assert.equal(watch.verdict, 'free');
  add(agentMessage('Well.'));
  assert.equal(watch.verdict, 'repeats');
});

test('a run that takes over after a crash warns and ends where the one before would', async () => {
  const script = times(30, step('ls'));
  const whole = new Stage(script);
  const journal = new FakeJournal(whole.log);
  await whole.run({ journal });
  for (let at = 0; at < journal.writes; at += 1) {
    const stage = new Stage(script);
    stage.sandbox.exec_ = () => ({ output: 'same' });
    await assert.rejects(
      stage.run({ journal: new FakeJournal(stage.log, { crash: { at, stored: true } }) }),
      Crash,
    );
    const outcome = await stage.run();
    assert.ok(outcome.kind === 'failed' && outcome.code === 'agent_stuck', `crash after write ${at}`);
  }
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import { userMessage } from '../../events/build.ts';
import { isObservation } from '../../events/event.ts';
import { bash, finish, Stage } from '../../../test/support/agent/stage.ts';

function reason(stage: Stage): string {
  const last = stage.log.events.at(-1);
  assert.ok(last && isObservation(last, 'agent_state_changed'));
  assert.equal(last.extras.agent_state, 'error');
  return last.extras.reason;
}

test('at the limit of steps the state is error with the reason that V0 gives', async () => {
  const stage = new Stage([{ calls: [bash('a')] }, { calls: [bash('b')] }, { calls: [bash('c')] }]);
  const outcome = await stage.run({ maxIterations: 2 });
  assert.equal(
    reason(stage),
    'RuntimeError: Agent reached maximum iteration. Current iteration: 2, max iteration: 2',
  );
  assert.ok(outcome.kind === 'failed' && outcome.code === 'iterations_exhausted' && outcome.hint !== '');
  assert.equal(stage.log.iterations, 2);
  assert.deepEqual(stage.sandbox.commands, ['a', 'b']);
});

test('a new allowance lets the same conversation go on', async () => {
  const stage = new Stage([{ calls: [bash('a')] }, { calls: [bash('b')] }, { calls: [finish()] }]);
  await stage.run({ maxIterations: 1 });
  await stage.run({ maxIterations: 1, iterationsFrom: 1 });
  assert.equal(
    reason(stage),
    'RuntimeError: Agent reached maximum iteration. Current iteration: 2, max iteration: 2',
  );
  assert.deepEqual(await stage.run({ maxIterations: 1, iterationsFrom: 2 }), { kind: 'finished' });
});

test('at the limit of the budget no call is made, and the reason is V0 words', async () => {
  const stage = new Stage([{ calls: [bash('a')] }], 'Do it.', 'openai/gpt-4o');
  const spent = { cost: 2.5, promptTokens: 0, completionTokens: 0 };
  const outcome = await stage.run({ maxBudget: 1.5, budgetFrom: 0.75, spent });
  assert.equal(
    reason(stage),
    'RuntimeError: Agent reached maximum budget for conversation.Current budget: 2.50, max budget: 2.25',
  );
  assert.ok(outcome.kind === 'failed' && outcome.code === 'budget_exhausted');
  assert.equal(stage.model.prompts.length, 0);
});

test('the budget stops a run when its own steps have used it up', async () => {
  const usage = { prompt: 1_000_000, completion: 0 };
  const stage = new Stage([{ calls: [bash('a')], usage }, { calls: [bash('b')] }], 'Do it.', 'openai/gpt-4o');
  assert.equal((await stage.run({ maxBudget: 0.01 })).kind, 'failed');
  assert.deepEqual(stage.sandbox.commands, ['a']);
});

test('a model without a known price is refused while a budget is set, and used without one', async () => {
  const stage = new Stage([{ calls: [finish()] }]);
  const outcome = await stage.run({ maxBudget: 5 });
  assert.ok(outcome.kind === 'failed' && outcome.code === 'model_price_unknown');
  assert.match(reason(stage), /price of the model test\/scripted is not known/);
  assert.equal(stage.model.prompts.length, 0);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
});

test('a run that takes too long is ended: its command is interrupted, what is open is answered, a message goes on', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stage = new Stage([{ calls: [bash('long'), bash('never')] }, { calls: [finish()] }]);
  stage.sandbox.exec_ = async (_, { signal }) => {
    const aborted = once(signal, 'abort');
    t.mock.timers.tick(60_000);
    await aborted;
    return { kind: 'interrupted', exitCode: 130 };
  };
  const outcome = await stage.run({ timeouts: { modelMs: 60_000, runMs: 60_000 } });
  assert.ok(outcome.kind === 'failed' && outcome.code === 'run_timed_out');
  assert.deepEqual(stage.sandbox.commands, ['long']);
  assert.deepEqual(stage.story().slice(-3), ['→ run', '→ error', 'state error']);
  assert.equal(stage.log.open.size, 0);
  stage.log.append([userMessage('Go on.')]);
  assert.deepEqual(await stage.run({ timeouts: { modelMs: 60_000, runMs: 60_000 } }), { kind: 'finished' });
});

test('a run that takes too long while the model answers is ended', async () => {
  const stage = new Stage([{ calls: [finish()], meanwhile: () => new Promise(() => {}) }]);
  const outcome = await stage.run({ timeouts: { modelMs: 60_000, runMs: 20 } });
  assert.ok(outcome.kind === 'failed' && outcome.code === 'run_timed_out');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Crash, FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { type Scripted } from '../../../test/support/agent/fake-model.ts';
import { bash, finish, Stage } from '../../../test/support/agent/stage.ts';
import { userText } from '../../model/message.ts';
import { priceOf } from '../../model/price.ts';
import { Spending } from './spending.ts';
import { fc } from '../../../test/support/samples.ts';

const MODEL = 'openai/gpt-4o';
const COST = { promptTokens: 2_000, completionTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 };
const usage = { prompt: COST.promptTokens, completion: COST.completionTokens };
const EACH = priceOf(MODEL, COST) ?? Number.NaN;

function costOf(stage: Stage): number {
  return stage.log.events.findLast(({ llm_metrics }) => llm_metrics)?.llm_metrics?.accumulated_cost ?? 0;
}

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is about ${expected}`);
}

/** A stage with one run's spending, to make calls beside each other. */
function purse(script: readonly Scripted[], more: { maxBudget: number; stage?: Stage }) {
  const queue = [...script];
  const stage = more.stage ?? new Stage(() => queue.shift() ?? { text: 'None.' }, 'Do it.', MODEL);
  const context = { ...stage.context({ maxBudget: more.maxBudget }), model: stage.model.runModel };
  const spending = new Spending(context, null);
  const ask = (tokens: number, longest: number) =>
    spending.ask(
      {
        model: context.model,
        system: 'You help.',
        messages: [userText('Hi')],
        tools: [],
        signal: context.signal,
      },
      { tokens, longest },
    );
  return { stage, spending, ask };
}

test('what a call may cost is set aside before it is made, and no longer once an event tells its cost', async () => {
  const seen: number[][] = [];
  const stage: Stage = new Stage(
    [
      { calls: [bash('a')], usage, meanwhile: () => void seen.push([...stage.log.reserved.values()]) },
      { calls: [finish()], usage, meanwhile: () => void seen.push([...stage.log.reserved.values()]) },
    ],
    'Do it.',
    MODEL,
  );
  assert.deepEqual(await stage.run({ maxBudget: 5 }), { kind: 'finished' });
  assert.deepEqual(
    seen.map((one) => one.length),
    [1, 1],
  );
  assert.ok(seen.flat().every((dollars) => dollars > EACH));
  assert.equal(stage.log.reserved.size, 0);
  near(costOf(stage), 2 * EACH);
});

test('without a budget nothing is set aside', async () => {
  const stage = new Stage([{ calls: [finish()], usage }], 'Do it.', MODEL);
  const journal = new FakeJournal(stage.log);
  journal.reserve = () => assert.fail('nothing is to be set aside');
  assert.deepEqual(await stage.run({ journal }), { kind: 'finished' });
});

test('a call waits for one beside it that would leave it too little', async () => {
  const held = Promise.withResolvers<void>();
  const first: Scripted = { text: 'One.', usage, meanwhile: () => held.promise };
  const { stage, ask } = purse([first, { text: 'Two.', usage }], { maxBudget: 0.05 });
  const one = ask(10_000, 2_000);
  while (stage.model.prompts.length < 1) await new Promise(setImmediate);
  const two = ask(10_000, 1_500);
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  assert.equal(stage.model.prompts.length, 1);
  held.resolve();
  assert.ok((await one).ok && (await two).ok);
  assert.equal(stage.model.prompts.length, 2);
});

test('an answer that cannot be paid at its longest is bounded, and one that cannot be paid at all is not asked for', async () => {
  const { stage, ask, spending } = purse([{ text: 'Short.', usage }], { maxBudget: 0.05 });
  assert.ok((await ask(10_000, 16_000)).ok);
  assert.deepEqual(stage.model.limits, [2_500]);
  const refused = await ask(18_000, 16_000);
  assert.ok(!refused.ok && refused.kind === 'exhausted' && refused.failure.code === 'budget_exhausted');
  assert.match(refused.failure.hint, /The \$0\.04\d+ that are left may not pay for the next call/);
  assert.equal(stage.model.prompts.length, 1);
  near(spending.cost, EACH);
});

test('a call that was refused costs nothing; one whose answer broke off, or was not counted, costs what was sent', async () => {
  const refused = { error: Object.assign(new Error('no'), { statusCode: 401 }) };
  const broken = { text: 'x'.repeat(3_000), broken: true };
  const uncounted = { text: 'x'.repeat(3_000), usage: { prompt: 0, completion: 0 } };
  const sent = priceOf(MODEL, { ...COST, promptTokens: 10_000, completionTokens: 1_000 }) ?? Number.NaN;
  const { stage, ask, spending } = purse([refused, broken, uncounted], { maxBudget: 5 });
  assert.ok(!(await ask(10_000, 2_000)).ok);
  assert.deepEqual([spending.cost, stage.log.reserved.size], [0, 0]);
  assert.ok(!(await ask(10_000, 2_000)).ok);
  near(spending.cost, sent);
  assert.ok((await ask(10_000, 2_000)).ok);
  near(spending.cost, 2 * sent);
  assert.equal(spending.say().settled.length, 2);
});

test('a call that was stopped costs what was sent until then, in the next run', async () => {
  const stage: Stage = new Stage(
    [[{ text: 'never', meanwhile: () => stage.abort.abort(new Error('stopped')) }]],
    'Do it.',
    MODEL,
  );
  const { ask } = purse([], { maxBudget: 5, stage });
  await assert.rejects(ask(10_000, 2_000), /stopped/);
  const left = [...stage.log.reserved.values()];
  assert.equal(left.length, 1);
  near(left[0] ?? 0, priceOf(MODEL, { ...COST, promptTokens: 10_000, completionTokens: 0 }) ?? 0);
});

test('a crash during a call leaves what it may have cost to the next run, which says so once', async () => {
  const script = () => ({ calls: [finish()], usage });
  const stage = new Stage(script, 'Do it.', MODEL);
  const journal = new FakeJournal(stage.log, { crash: { at: 3, stored: false } });
  await assert.rejects(stage.run({ maxBudget: 5, journal }), Crash);
  const [lost = 0] = [...stage.log.reserved.values()];
  assert.ok(lost > EACH);
  assert.equal(costOf(stage), 0);
  assert.deepEqual(await stage.run({ maxBudget: 5 }), { kind: 'finished' });
  near(costOf(stage), lost + EACH);
  assert.equal(stage.log.reserved.size, 0);
});

test('what a crash left counts for the budget, and is said where no call is made any more', async () => {
  const stage = new Stage([{ calls: [finish()], usage }], 'Do it.', MODEL);
  stage.log.reserved.set(7, 1.25);
  const outcome = await stage.run({ maxBudget: 1 });
  assert.ok(outcome.kind === 'failed' && outcome.code === 'budget_exhausted');
  assert.deepEqual([costOf(stage), stage.log.reserved.size, stage.model.prompts.length], [1.25, 0, 0]);
});

test('whatever write a crash comes at, no call is free and nothing stays set aside', async () => {
  const script = [
    { calls: [bash('a')], usage },
    { calls: [{ name: 'unknown', input: {} }], usage },
    { calls: [finish()], usage },
  ];
  const whole = new Stage(script, 'Do it.', MODEL);
  const journal = new FakeJournal(whole.log);
  await whole.run({ maxBudget: 5, journal });
  near(costOf(whole), 3 * EACH);
  for (const stored of [false, true]) {
    for (let at = 0; at < journal.writes; at += 1) {
      const stage = new Stage(script, 'Do it.', MODEL);
      await assert.rejects(
        stage.run({ maxBudget: 5, journal: new FakeJournal(stage.log, { crash: { at, stored } }) }),
        Crash,
      );
      await stage.run({ maxBudget: 5 });
      assert.equal(stage.log.reserved.size, 0);
      assert.ok(costOf(stage) >= stage.model.prompts.length * EACH - 1e-9, `write ${at}`);
    }
  }
});

test('calls made at the same time, none larger than was said, never exceed the budget together', async () => {
  const call = fc.record({
    tokens: fc.nat(20_000),
    longest: fc.integer({ min: 1, max: 4_000 }),
    uses: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 8 }),
      fc.double({ min: 0.001, max: 0.2, noNaN: true }),
      async (calls, maxBudget) => {
        // Which call a request belongs to does not show: each answer uses as much as any of them may, or as it was told.
        const uses = calls.map((one) => one.uses);
        const tokens = Math.min(...calls.map((one) => one.tokens));
        const longest = Math.min(...calls.map((one) => one.longest));
        const stage: Stage = new Stage(
          () => {
            const most = Math.min(longest, stage.model.limits.at(-1) ?? longest);
            const completion = Math.floor(most * (uses.pop() ?? 1));
            return { text: 'x', usage: { prompt: tokens + 1, completion } };
          },
          'Do it.',
          MODEL,
        );
        const { ask, spending } = purse([], { maxBudget, stage });
        await Promise.all(calls.map((one) => ask(one.tokens + 1, one.longest)));
        assert.ok(spending.cost <= maxBudget + 1e-9, `${spending.cost} of ${maxBudget}`);
      },
    ),
    { numRuns: 50 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Crash, FakeJournal, FakeLog } from '../../../test/support/agent/fake-journal.ts';
import { FakeModel, type Prompt, type Scripted } from '../../../test/support/agent/fake-model.ts';
import { bash, finish, Stage } from '../../../test/support/agent/stage.ts';
import { userCommand, userMessage } from '../../events/build.ts';
import { type Condensation, type Event, isAction, isCondensation } from '../../events/event.ts';
import type { AgentContext } from '../context.ts';
import { tokensOfText } from '../history/tokens.ts';
import { RunLog } from '../run-log.ts';
import { SUMMARY_PROMPT } from './summary-prompt.ts';

const isSummary = (prompt: Prompt) => prompt[0]?.content === SUMMARY_PROMPT;

/** A conversation whose agent runs commands with much output, and the model that says so: it goes by what the log has. */
class Long {
  readonly stage: Stage;
  readonly model: FakeModel;
  readonly more: Partial<AgentContext>;

  constructor(
    steps: number,
    {
      output = 3_000,
      window = 16_000,
      summary = (): Scripted => ({ text: 'So far, so good.' }),
      ...more
    }: {
      output?: number;
      window?: number;
      summary?: () => Scripted;
      refuses?: (prompt: Prompt) => boolean;
      condenser?: boolean;
    } = {},
  ) {
    this.stage = new Stage([], 'Do it all.');
    this.stage.sandbox.exec_ = (command) => ({ output: `${command} ${'x'.repeat(output)}\n` });
    const answer = (prompt: Prompt): Scripted => {
      if (isSummary(prompt)) return summary();
      if (more.refuses?.(prompt)) {
        return { error: Object.assign(new Error('maximum context length is less'), { statusCode: 400 }) };
      }
      const done = this.stage.sandbox.commands.length;
      return done < steps ? { calls: [bash(`command ${done}`)] } : { calls: [finish()] };
    };
    this.model = new FakeModel(answer, 'openai/gpt-4o', window);
    this.more = { model: this.model.runModel, condenser: more.condenser ?? true, maxIterations: steps + 2 };
  }

  run(more: Partial<AgentContext> = {}) {
    return this.stage.run({ ...this.more, ...more });
  }

  get condensations(): (Event & Condensation)[] {
    return this.stage.log.events.filter((event) => isCondensation(event));
  }

  get summaries(): Prompt[] {
    return this.model.prompts.filter(isSummary);
  }

  get asked(): Prompt[] {
    return this.model.prompts.filter((prompt) => !isSummary(prompt));
  }
}

const sizeOf = (prompt: Prompt) => tokensOfText(JSON.stringify(prompt));

test('on: the oldest part is replaced by what the model writes of it, once for each time it is too much', async () => {
  let n = 0;
  const long = new Long(40, { summary: () => ({ text: `Summary ${(n += 1)}.` }) });
  assert.deepEqual(await long.run(), { kind: 'finished' });
  const { condensations, summaries } = long;
  assert.ok(condensations.length >= 3);
  assert.equal(summaries.length, condensations.length);
  assert.deepEqual(
    condensations.map(({ args }) => args.summary),
    condensations.map((_, at) => `Summary ${at + 1}.`),
  );
  const last = JSON.stringify(long.asked.at(-1));
  assert.ok(
    last.includes(`Summary ${n}.`) && !last.includes(`Summary ${n - 1}.`) && last.includes('Do it all.'),
  );
  assert.ok(!last.includes('command 0 '));
  assert.ok(JSON.stringify(summaries[1]).includes('Summary 1.'));
  assert.ok(long.asked.every((prompt) => sizeOf(prompt) < 16_000));
  // The log keeps everything.
  assert.equal(long.stage.log.events.filter((event) => isAction(event, 'run')).length, 40);
});

test('off: the oldest steps drop out, and nothing more is asked', async () => {
  const long = new Long(40, { condenser: false });
  assert.deepEqual(await long.run(), { kind: 'finished' });
  assert.equal(long.summaries.length, 0);
  assert.equal(long.asked.length, 41);
  assert.ok(long.condensations.length >= 3);
  assert.ok(long.condensations.every(({ args }) => args.summary === null));
  const last = JSON.stringify(long.asked.at(-1));
  assert.ok(/\d+ older steps of this conversation are left out.*Do it all\./.test(last));
  assert.ok(long.asked.every((prompt) => sizeOf(prompt) < 16_000));
});

test('what summing up costs is counted, and no step is', async () => {
  const usage = { prompt: 1_000_000, completion: 0 };
  const long = new Long(20, { summary: () => ({ text: 'Dear.', usage }) });
  await long.run();
  const cost = long.stage.log.events.findLast(({ llm_metrics }) => llm_metrics)?.llm_metrics
    ?.accumulated_cost;
  assert.ok(long.condensations.length > 0);
  assert.equal(Math.floor((cost ?? 0) / 2.5), long.condensations.length);
  assert.equal(long.stage.log.iterations, 21);
});

test('a model that finds it too long is asked again with less, and goes on', async () => {
  const long = new Long(20, { window: 1_000_000, refuses: (prompt) => sizeOf(prompt) > 12_000 });
  assert.deepEqual(await long.run(), { kind: 'finished' });
  assert.ok(long.condensations.length > 0);
  assert.equal(long.summaries.length, long.condensations.length);
});

test('a model that finds anything too long is the failure that says so', async () => {
  const long = new Long(3, { refuses: () => true });
  const outcome = await long.run();
  assert.ok(outcome.kind === 'failed' && outcome.code === 'model_context_length');
  assert.ok(long.asked.length <= 6);
});

for (const [name, answer] of Object.entries<Scripted>({
  huge: { text: 'x'.repeat(500_000) },
  'a call of a tool': { calls: [bash('rm -rf /')] },
  'a failure': { error: Object.assign(new Error('no'), { statusCode: 400 }) },
})) {
  test(`a summary that is ${name} stops nothing, and runs nothing`, async () => {
    const long = new Long(30, { summary: () => answer });
    assert.deepEqual(await long.run(), { kind: 'finished' });
    assert.equal(long.stage.sandbox.commands.length, 30);
    assert.ok(long.stage.sandbox.commands.every((command) => command.startsWith('command ')));
    assert.ok(long.asked.every((prompt) => sizeOf(prompt) < 16_000));
  });
}

test('a key that is refused when it comes to summing up ends the run, and nothing is forgotten', async () => {
  const answers: Scripted[] = [{ error: Object.assign(new Error('no'), { statusCode: 401 }) }];
  const long = new Long(20, { summary: () => answers.shift() ?? { text: 'Later.' } });
  const outcome = await long.run();
  assert.ok(outcome.kind === 'failed' && outcome.code === 'model_authentication');
  assert.equal(long.condensations.length, 0);
  long.stage.log.append([userMessage('I gave you another.')]);
  assert.deepEqual(await long.run(), { kind: 'finished' });
  assert.equal(long.condensations[0]?.args.summary, 'Later.');
});

test('outputs that are larger than the window are cut where the model reads them, which says so', async () => {
  const long = new Long(6, { output: 29_000, window: 10_000 });
  assert.deepEqual(await long.run(), { kind: 'finished' });
  const last = JSON.stringify(long.asked.at(-1));
  assert.ok(last.includes("characters left out here: the model's window does not hold more of it"));
  assert.ok(
    long.asked.every((prompt) => sizeOf(prompt) < 10_000),
    String(long.asked.map(sizeOf)),
  );
});

test('after a crash at any write a condensation is there or not, whole, and what is there is not asked for again', async () => {
  const whole = new Long(8, { output: 9_000 });
  const journal = new FakeJournal(whole.stage.log);
  await whole.run({ journal });
  const expected = whole.condensations.length;
  assert.ok(expected >= 2);
  for (const stored of [false, true]) {
    for (let at = 0; at < journal.writes; at += 1) {
      const long = new Long(8, { output: 9_000 });
      const crashing = new FakeJournal(long.stage.log, { crash: { at, stored } });
      await assert.rejects(long.run({ journal: crashing }), Crash);
      const recorded = long.condensations.length;
      const lost = long.summaries.length - recorded;
      assert.ok(lost === 0 || (lost === 1 && !stored), `write ${at}: ${lost} lost`);
      assert.deepEqual(await long.run(), { kind: 'finished' }, `write ${at}`);
      assert.equal(long.summaries.length - lost, long.condensations.length, `write ${at}`);
      for (const { args, carried, llm_metrics } of long.condensations) {
        assert.ok(args.summary === 'So far, so good.' && carried.steps > 0 && llm_metrics);
      }
      const commands = long.stage.sandbox.commands;
      assert.equal(new Set(commands).size, commands.length, 'no command ran twice');
    }
  }
});

test('what the user has had done in between is kept or forgotten whole, for a run that goes on and for one that takes over', async () => {
  const long = new Long(30);
  const { log } = long.stage;
  let seen = 0;
  const afterWrite = () => {
    seen += 1;
    // A step has two writes: after the one or the other it is before or after what the agent does.
    if (seen % 5 !== 0) return;
    const [asked] = log.append([userCommand({ command: `mine ${seen}`, hidden: false })]);
    if (asked) log.open.set(asked.id, 'asked');
  };
  await long.run({ journal: new FakeJournal(log, { afterWrite }) });
  const read = async (events: readonly Event[], condensation: number) => {
    const part = new FakeLog();
    part.events.push(...events);
    const run = new RunLog(new FakeJournal(part));
    await run.open(condensation);
    return run.history;
  };
  const { condensations } = long;
  assert.ok(condensations.length >= 2);
  assert.ok(
    condensations.some(({ carried }) => carried.waiting.length > 0),
    'one asked for before is done after',
  );
  for (const [n, { id }] of condensations.entries()) {
    const events = log.events.slice(0, condensations[n + 1]?.id);
    const [goesOn, takesOver] = [await read(events, -1), await read(events, id)];
    assert.deepEqual(takesOver.units, goesOn.units);
    assert.ok(JSON.stringify(goesOn.units).includes('$ mine '));
  }
});

test('2,000 steps stay under a window of 32,000 tokens to the end, and a new run reads a part of the log that does not grow', async () => {
  const WINDOW = 32_000;
  const long = new Long(2_000, { window: WINDOW, output: 1_000 });
  let largest = 0;
  // Kept, two thousand requests would be some hundred megabytes.
  long.model.prompts.push = (prompt) => {
    largest = Math.max(largest, sizeOf(prompt));
    return 0;
  };
  assert.deepEqual(await long.run(), { kind: 'finished' });
  assert.ok(largest > WINDOW / 2 && largest < WINDOW, String(largest));
  assert.equal(long.stage.sandbox.commands.length, 2_000);
  long.stage.log.append([userMessage('And?')]);
  const before = long.stage.log.reads;
  await long.run({ iterations: 0 });
  const reads = long.stage.log.reads - before;
  assert.ok(reads < 300, `${reads} of ${long.stage.log.events.length} events`);
});

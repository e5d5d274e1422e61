import assert from 'node:assert/strict';
import { test } from 'node:test';

import { userMessage } from '../events/build.ts';
import { isObservation } from '../events/event.ts';
import { FakeModel, type Scripted } from '../../test/support/agent/fake-model.ts';
import { bash, finish, Stage } from '../../test/support/agent/stage.ts';
import { TITLE_PROMPT } from './title.ts';

const usage = { prompt: 100, completion: 10 };

/** A stage whose model names conversations as it is told. */
class Named extends Stage {
  readonly names: string[] = [];
  readonly asked: string[] = [];

  constructor(script: (Scripted | Scripted[])[], title: Scripted, says = 'Mend the login.') {
    super(script, says, 'openai/gpt-4o');
    const titles = new FakeModel([title], 'openai/gpt-4o');
    const steps = this.model.runModel;
    const choose = async () => {
      const [own, other] = [await titles.runModel.open(), await steps.open()];
      return new Proxy(other, {
        get: (target, member) =>
          member === 'doStream'
            ? (options: Parameters<typeof other.doStream>[0]) => {
                const text = JSON.stringify(options.prompt);
                if (!text.includes(TITLE_PROMPT)) return other.doStream(options);
                this.asked.push(text);
                return own.doStream(options);
              }
            : Reflect.get(target, member),
      });
    };
    this.runNamed = () =>
      this.run({
        model: { ...steps, open: choose },
        rename: async (name) => void this.names.push(name),
      });
  }

  readonly runNamed: () => ReturnType<Stage['run']>;

  async named(times = 1): Promise<void> {
    while (this.names.length < times) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  metrics(): (number | undefined)[] {
    return this.log.events.flatMap((event) =>
      event.llm_metrics ? [event.llm_metrics.accumulated_token_usage.prompt_tokens] : [],
    );
  }
}

test('the model names the conversation after its first answer, once', async () => {
  const stage = new Named([{ calls: [bash('ls')] }, { calls: [bash('pwd')] }, { calls: [finish()] }], {
    text: 'Mending the login',
  });
  assert.deepEqual(await stage.runNamed(), { kind: 'finished' });
  await stage.named();
  assert.deepEqual([stage.names, stage.asked.length], [['Mending the login'], 1]);
  assert.match(stage.asked[0] ?? '', /Mend the login\..*calls execute_bash/);
});

const FORMS: [string, string][] = [
  ['"Mending the login"', 'Mending the login'],
  ['# Title: **Mending the login**\n\nIt is about…', 'Mending the login'],
  ['\n\n  Mending\tthe   login. ', 'Mending the login'],
  [`Mending ${'the '.repeat(30)}login`, `Mending ${'the '.repeat(10)}t…`],
  ['…', 'Mend the login.'],
];
for (const [text, title] of FORMS) {
  test(`a title of one line is made of ${JSON.stringify(text.slice(0, 30))}`, async () => {
    const stage = new Named([{ calls: [finish()] }], { text });
    await stage.runNamed();
    await stage.named();
    assert.deepEqual(stage.names, [title]);
    assert.ok(Array.from(title).length <= 50);
  });
}

test('a title that cannot be had is made from the message, and fails nothing', async () => {
  const stage = new Named([{ calls: [finish()] }], {
    error: Object.assign(new Error('no'), { statusCode: 401 }),
  });
  assert.deepEqual(await stage.runNamed(), { kind: 'finished' });
  await stage.named();
  assert.deepEqual(stage.names, ['Mend the login.']);
});

test('the run does not wait for a title', async () => {
  const held = Promise.withResolvers<void>();
  const stage = new Named([{ calls: [bash('ls')] }, { calls: [finish()] }], {
    text: 'Late',
    meanwhile: () => held.promise,
    usage,
  });
  assert.deepEqual(await stage.runNamed(), { kind: 'finished' });
  assert.deepEqual(stage.names, []);
  held.resolve();
  await stage.named();
  // What it cost has an event of its own, as no step came after it.
  const last = stage.log.events.at(-1);
  assert.ok(last && isObservation(last, 'null'));
  assert.deepEqual(stage.metrics(), [10, 20, 120]);
});

test('its cost is in the metrics of the next step, or in an event at the end', async () => {
  const stage = new Named([{ calls: [bash('ls')] }, { calls: [finish()] }], { text: 'In time', usage });
  stage.sandbox.exec_ = async () => {
    await stage.named();
    return {};
  };
  await stage.runNamed();
  assert.deepEqual(stage.metrics(), [10, 120]);
  const short = new Named([{ text: 'Hello.' }], { text: 'A greeting', usage });
  await short.runNamed();
  await short.named();
  assert.deepEqual(short.metrics(), [10, 110]);
});

test('a conversation that goes on after its first exchange is not named again', async () => {
  const stage = new Named([{ text: 'Hello.' }, { calls: [finish()] }], { text: 'A greeting' });
  await stage.runNamed();
  await stage.named();
  stage.log.append([userMessage('More.')]);
  await stage.runNamed();
  assert.equal(stage.asked.length, 1);
});

test('without a budget left no title is asked for', async () => {
  const stage = new Named([{ text: 'Hello.', usage: { prompt: 1_000_000, completion: 1_000_000 } }], {
    text: 'x',
  });
  const run = stage.run.bind(stage);
  stage.run = (more) => run({ ...more, maxBudget: 0.01 });
  await stage.runNamed();
  await stage.named();
  assert.deepEqual([stage.asked.length, stage.names], [0, ['Mend the login.']]);
});

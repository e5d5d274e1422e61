import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isObservation } from '../../../src/events/event.ts';
import { priceOf } from '../../../src/model/price.ts';
import { type Answer, call, calls, gate, say, status, type Usage } from '../../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const MODEL = 'openai/gpt-4o';
const USAGE = { prompt: 10_000, completion: 100 };
const TITLE = { prompt: 1_000, completion: 10 };
const TOO_LONG = status(
  400,
  {},
  { error: { message: 'maximum context length', code: 'context_length_exceeded' } },
);
const done = call('finish', { message: 'done' }, { usage: USAGE });
const think = (n: number) => call('think', { thought: `thought ${n}` }, { usage: USAGE });

function costOf(...usages: Usage[]): number {
  return usages
    .map(({ prompt, completion }) =>
      priceOf(MODEL, {
        promptTokens: prompt,
        completionTokens: completion,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      }),
    )
    .reduce((sum: number, price) => sum + (price ?? Number.NaN), 0);
}

function spent(events: readonly Event[]): number {
  return events.findLast(({ llm_metrics }) => llm_metrics)?.llm_metrics?.accumulated_cost ?? 0;
}

function reasons(events: readonly Event[]): string[] {
  return events.flatMap((event) =>
    isObservation(event, 'agent_state_changed') && event.extras.agent_state === 'error'
      ? [event.extras.reason]
      : [],
  );
}

describe('limits of a conversation', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer();
    model.answerTitles(say('A title', { usage: TITLE }));
    parley = await startParley();
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const settings = (more: object) =>
    parley.ok('POST', '/api/settings', {
      llm_model: MODEL,
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      max_iterations: null,
      max_budget_per_task: null,
      ...more,
    });
  const begin = (id: string) =>
    parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Do it.' });
  const tell = (id: string) => parley.ok('POST', `/api/conversations/${id}/message`, { message: 'Go on.' });
  const inState = (id: string, state: string) => parley.until(id, ({ agent_state }) => agent_state === state);
  /** Answers in their order, whatever the request. */
  const play = (...answers: Answer[]) => {
    const queue = [...answers];
    model.play(() => queue.shift() ?? done);
  };

  it('max_iterations: ends with the reason that V0 gives, and a message allows as many again', async () => {
    await settings({ max_iterations: 2 });
    play(think(1), think(2), think(3), think(4), think(5), done);
    await begin('steps');
    const { error } = await inState('steps', 'error');
    assert.equal(error?.code, 'iterations_exhausted');
    const reached = (steps: number) =>
      `RuntimeError: Agent reached maximum iteration. Current iteration: ${steps}, max iteration: ${steps}`;
    assert.deepEqual(reasons(await parley.events('steps')), [reached(2)]);
    await tell('steps');
    const events = await parley.untilEvents('steps', (now) => reasons(now).length === 2);
    assert.deepEqual(reasons(events), [reached(2), reached(4)]);
    await tell('steps');
    await inState('steps', 'finished');
  });

  it('max_budget_per_task: no answer may be longer than what is left pays, then it ends, and a message allows as much again', async () => {
    await settings({ max_budget_per_task: 0.06 });
    const from = model.requests.length;
    play(think(1), think(2), done);
    await begin('budget');
    const { error } = await inState('budget', 'error');
    assert.equal(error?.code, 'budget_exhausted');
    const cost = costOf(USAGE, USAGE, TITLE);
    const reason = `RuntimeError: Agent reached maximum budget for conversation.Current budget: ${cost.toFixed(2)}, max budget: 0.06`;
    const events = await parley.events('budget');
    assert.deepEqual(reasons(events), [reason]);
    assert.ok(Math.abs(spent(events) - cost) < 1e-9);
    const asked = model.requests.slice(from);
    assert.equal(asked.length, 2);
    for (const { body } of asked) {
      const longest = body['max_tokens'];
      assert.ok(typeof longest === 'number' && longest <= 4_096, String(longest));
    }
    await tell('budget');
    await inState('budget', 'finished');
    assert.equal(model.requests.length, from + 3);
  });

  it('max_budget_per_task: counts steps, title and summaries alike', async () => {
    await settings({ max_budget_per_task: 20 });
    const summary = { prompt: 200_000, completion: 20 };
    const large = (n: number) => ({
      name: 'execute_bash',
      input: { command: `echo ${n}; head -c 29000 /dev/zero | tr '\\0' x` },
    });
    let steps = 0;
    let summaries = 0;
    model.play(({ body }) => {
      if (!body.tools?.length) {
        summaries += 1;
        return say('Known.', { usage: summary });
      }
      steps += 1;
      return steps <= 4
        ? calls(
            [1, 2, 3, 4].map((n) => large(4 * steps + n)),
            { usage: USAGE },
          )
        : done;
    });
    const titles = model.titles.length;
    await begin('all-calls');
    await inState('all-calls', 'finished');
    await parley.until('all-calls', (view) => view.title === 'A title');
    assert.deepEqual([steps, summaries, model.titles.length - titles], [5, 1, 1]);
    const cost = costOf(USAGE, USAGE, USAGE, USAGE, USAGE, TITLE, summary);
    const events = await parley.untilEvents('all-calls', (now) => Math.abs(spent(now) - cost) < 1e-9);
    assert.ok(Math.abs(spent(events) - cost) < 1e-9);
  });

  it('max_budget_per_task: a request that the model refuses as too long costs nothing, the summary that follows does', async () => {
    await settings({ max_budget_per_task: 20 });
    const summary = { prompt: 20_000, completion: 50 };
    const asked = { steps: 0, refused: 0, summaries: 0 };
    model.play(({ body }) => {
      if (!body.tools?.length) {
        asked.summaries += 1;
        return say('Known.', { usage: summary });
      }
      if (asked.steps === 2 && asked.refused === 0) {
        asked.refused += 1;
        return TOO_LONG;
      }
      asked.steps += 1;
      const thought = `${asked.steps} ${'word '.repeat(2_000)}`;
      return asked.steps < 5 ? call('think', { thought }, { usage: USAGE }) : done;
    });
    await begin('refused');
    await inState('refused', 'finished');
    await parley.until('refused', (view) => view.title === 'A title');
    assert.deepEqual({ ...asked, summaries: asked.summaries > 0 }, { steps: 5, refused: 1, summaries: true });
    const summaries = Array.from({ length: asked.summaries }, () => summary);
    const cost = costOf(...Array.from({ length: 5 }, () => USAGE), ...summaries, TITLE);
    await parley.untilEvents('refused', (now) => Math.abs(spent(now) - cost) < 1e-9);
  });

  it('max_budget_per_task: a call that was under way at a kill is not free', async () => {
    await settings({ max_budget_per_task: 1 });
    const from = model.requests.length;
    play(gate('killed', think(1)), done);
    await begin('killed');
    await model.request(from);
    await parley.crash();
    model.open('killed');
    await parley.start();
    await inState('killed', 'finished');
    assert.equal(model.requests.length, from + 2);
    const cost = spent(await parley.events('killed'));
    assert.ok(cost > 1.5 * costOf(USAGE) && cost < 1, String(cost));
  });

  it('max_budget_per_task: a model without a known price is refused with a reason that says so, and asked without a budget', async () => {
    await settings({ llm_model: 'openai/scripted', max_budget_per_task: 1 });
    const from = model.requests.length;
    play(done);
    await begin('unpriced');
    const { error } = await inState('unpriced', 'error');
    assert.equal(error?.code, 'model_price_unknown');
    assert.match(
      reasons(await parley.events('unpriced'))[0] ?? '',
      /price of the model openai\/scripted is not known/,
    );
    assert.equal(model.requests.length, from);
    await parley.ok('PATCH', '/api/settings', { max_budget_per_task: 0 });
    await tell('unpriced');
    await inState('unpriced', 'finished');
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction } from '../../../src/events/event.ts';
import { type Answer, call, gate, say, status } from '../../support/model/answers.ts';
import type { ModelRequest } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeModel } from '../../support/stored.ts';

/** Of a model that no price list knows. With what every request has, there is room for about three of the outputs. */
const WINDOW = 16_000;
const OUTPUT = 8_000;
const FIRST = 'Do all of it.';

const step = (n: number) =>
  call('execute_bash', { command: `echo mark-${n}-; head -c ${OUTPUT} /dev/zero | tr '\\0' x` });
const asksForSummary = ({ body }: ModelRequest) => !body.tools?.length;
const textOf = ({ body }: ModelRequest) => JSON.stringify(body.messages);
const condensationsOf = (events: readonly Event[]) =>
  events.flatMap((event) => (isAction(event, 'condensation') ? [event] : []));

describe('enable_default_condenser', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer();
    parley = await startParley({ PARLEY_MODEL_WINDOW_TOKENS: String(WINDOW) });
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  /** Has the model make so many steps and finish; summaries are counted, and answered as asked. */
  function play(steps: number, summary: (n: number) => Answer, held: () => string | null = () => null) {
    const asked: { summaries: ModelRequest[]; steps: ModelRequest[] } = { summaries: [], steps: [] };
    let done = 0;
    model.play((request) => {
      if (asksForSummary(request)) return summary(asked.summaries.push(request));
      asked.steps.push(request);
      const name = held();
      const seen = [...textOf(request).matchAll(/mark-(\d+)-;/g)].map(([, n]) => Number(n) + 1);
      done = Math.max(done, ...seen);
      const answer = done < steps ? step(done) : call('finish', { message: 'done' });
      return name === null ? answer : gate(name, answer);
    });
    return asked;
  }
  const begin = (id: string, enable_default_condenser: boolean) =>
    parley
      .ok('PATCH', '/api/settings', { enable_default_condenser })
      .then(() => parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: FIRST }));
  const finished = (id: string) => parley.until(id, ({ agent_state }) => agent_state === 'finished');

  it('on: the model sums up the oldest part, the log keeps everything, and it is counted', async () => {
    const usage = { prompt: 7_000_000, completion: 3 };
    const asked = play(8, (n) => say(`Known after ${n}.`, { usage }));
    await begin('on', true);
    await finished('on');
    const events = await parley.events('on');
    const condensations = condensationsOf(events);
    assert.ok(condensations.length >= 2);
    assert.equal(asked.summaries.length, condensations.length);
    for (const [n, { source, message, args }] of condensations.entries()) {
      const { forgotten_events_start_id: first, forgotten_events_end_id: last, ...rest } = args;
      const summary = `Known after ${n + 1}.`;
      assert.deepEqual([source, message], ['agent', `Summary: ${summary}`]);
      assert.deepEqual(rest, { forgotten_event_ids: null, summary, summary_offset: first });
      assert.ok(first !== null && last !== null && first > 0 && last > first);
    }
    assert.match(textOf(asked.summaries[0] as ModelRequest), /mark-0-/);
    const last = textOf(asked.steps.at(-1) as ModelRequest);
    assert.ok(last.includes(FIRST) && last.includes(`Known after ${condensations.length}.`));
    assert.ok(!last.includes('mark-0-') && last.includes('mark-7-'));
    assert.equal(events.filter((event) => isAction(event, 'run')).length, 8);
    const spent = events.findLast(({ llm_metrics }) => llm_metrics)?.llm_metrics?.accumulated_token_usage;
    assert.equal(Math.floor((spent?.prompt_tokens ?? 0) / usage.prompt), condensations.length);
    assert.equal(spent?.context_window, WINDOW);
  });

  it('off: the oldest steps drop out, and the model is asked for nothing more', async () => {
    const asked = play(8, () => status(400));
    await begin('off', false);
    await finished('off');
    assert.equal(asked.summaries.length, 0);
    const last = textOf(asked.steps.at(-1) as ModelRequest);
    assert.match(last, /\d older steps of this conversation are left out/);
    assert.ok(last.includes(FIRST) && !last.includes('mark-0-') && last.includes('mark-7-'));
    const condensations = condensationsOf(await parley.events('off'));
    assert.ok(condensations.length > 0 && condensations.every(({ args }) => args.summary === null));
  });

  it('survives a kill while the model sums up, and after it did: what is recorded is not asked for again', async () => {
    const from = model.requests.length;
    let before = 0;
    const asked = play(
      5,
      (n) => (n === 1 ? gate('summary', say('Known before the crash.')) : say(`Known after ${n}.`)),
      () => (asked.summaries.length === 2 && asked.steps.length === before + 1 ? 'step' : null),
    );
    await begin('killed', true);
    await model.until((requests) => requests.slice(from).some(asksForSummary));
    await parley.crash();
    before = asked.steps.length;
    model.open('summary');
    await parley.start();
    await model.until((requests) => requests.length === from + before + 3);
    // Now it is recorded, and the step that follows it waits for its answer.
    await parley.crash();
    model.open('step');
    await parley.start();
    await finished('killed');
    const condensations = condensationsOf(await parley.events('killed'));
    assert.equal(condensations[0]?.args.summary, 'Known after 2.');
    assert.equal(asked.summaries.length, condensations.length + 1);
    assert.ok(textOf(asked.steps[before + 1] as ModelRequest).includes('Known after 2.'));
    assert.ok(!textOf(asked.steps[before + 1] as ModelRequest).includes('mark-0-'));
  });

  it('goes on when the model cannot sum up, or finds a request too long', async () => {
    const tooLong = status(
      400,
      {},
      { error: { message: 'maximum context length', code: 'context_length_exceeded' } },
    );
    const asked = play(5, () => call('execute_bash', { command: 'touch /workspace/hostile' }));
    const { summaries, steps } = asked;
    await begin('hostile', true);
    await finished('hostile');
    assert.ok(summaries.length > 0 && steps.length === 6);
    assert.equal(
      (await parley.request('GET', '/api/conversations/hostile/select-file?file=hostile')).status,
      404,
    );

    let refused = 0;
    let done = 0;
    model.play((request) => {
      if (asksForSummary(request)) return say('Known all the same.');
      if (textOf(request).length > 2 * OUTPUT) {
        refused += 1;
        return tooLong;
      }
      return done < 5 ? step(done++) : call('finish', { message: 'done' });
    });
    await begin('too-long', true);
    await finished('too-long');
    assert.ok(refused > 0);
  });
});

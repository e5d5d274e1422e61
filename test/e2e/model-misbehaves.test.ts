import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import {
  type Answer,
  attempts,
  call,
  calls,
  cut,
  gate,
  raw,
  say,
  silence,
  stall,
  status,
  torn,
} from '../support/model/answers.ts';
import { byTurn, type Script } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, type View } from '../support/parley.ts';
import { storeModel } from '../support/stored.ts';

const RATE_LIMITED = 'CHAT_INTERFACE$AGENT_RATE_LIMITED_STOPPED_MESSAGE';
const UNAVAILABLE = 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE';
const done = call('finish', { message: 'done' });
const now = { 'retry-after': '0' };
const tooLong = status(
  400,
  {},
  { error: { message: 'maximum context length', code: 'context_length_exceeded' } },
);

/** One server answers all conversations, each by what its first message names. */
const SCRIPTS = new Map<string, Script>();

function nameOf(body: { messages: unknown[] }): string {
  return /case:([\w-]+)/.exec(JSON.stringify(body.messages))?.[1] ?? '';
}

describe('the model misbehaves', () => {
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    model = await startModelServer((request, index) => {
      const script = SCRIPTS.get(nameOf(request.body));
      return typeof script === 'function' ? script(request, index) : status(400);
    });
    parley = await startParley();
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  async function run(name: string, ...answers: Answer[]): ReturnType<typeof runWithin> {
    return await runWithin(PATIENCE_MS, name, ...answers);
  }

  async function runWithin(
    patience: number,
    name: string,
    ...answers: Answer[]
  ): Promise<{ view: View; events: Event[]; requests: number }> {
    SCRIPTS.set(name, byTurn(answers));
    await parley.ok('POST', '/api/conversations', {
      conversation_id: name,
      initial_user_msg: `case:${name}`,
    });
    const view = await parley.until(
      name,
      ({ agent_state }) => ['finished', 'awaiting_user_input', 'error', 'rate_limited'].includes(agent_state),
      patience,
    );
    const requests = model.requests.filter(({ body }) => nameOf(body) === name);
    return { view, events: await parley.events(name), requests: requests.length };
  }

  const RECOVERIES: [string, Answer, number][] = [
    ['429-with-a-wait', attempts(status(429, now), status(429, now), done), 3],
    ['429-without-a-wait', attempts(status(429), done), 2],
    ['500', attempts(status(500, now), done), 2],
    ['502-with-a-page', attempts(status(502, now, '<html>Bad gateway</html>'), done), 2],
    ['503', attempts(status(503, now), done), 2],
    [
      '529-overload',
      attempts(status(529, now, { error: { type: 'overloaded_error', message: 'Overloaded' } }), done),
      2,
    ],
    [
      'overload-in-the-stream',
      attempts(raw(['data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n']), done),
      2,
    ],
    ['cut-before-the-answer', attempts(cut(0), done), 2],
    ['cut-in-the-answer', attempts(cut(3), done), 2],
    ['cut-in-a-call', attempts(cut(4, call('think', { thought: 'x' })), done), 2],
    ['empty-answer', attempts(say(''), done), 2],
    ['too-long-once', attempts(tooLong, done), 2],
  ];
  for (const [name, answer, requests] of RECOVERIES) {
    it(`recovers: ${name}`, async () => {
      const ran = await run(name, answer);
      assert.deepEqual([ran.view.agent_state, ran.view.error, ran.requests], ['finished', null, requests]);
    });
  }

  const FAILURES: [string, Answer, string, string, string, number][] = [
    ['429-for-ever', status(429, now), 'rate_limited', 'model_rate_limited', RATE_LIMITED, 5],
    [
      '429-until-tomorrow',
      status(429, { 'retry-after': '86400' }),
      'rate_limited',
      'model_rate_limited',
      RATE_LIMITED,
      1,
    ],
    [
      '500-for-ever',
      status(500, now),
      'error',
      'model_server_error',
      'STATUS$ERROR_LLM_INTERNAL_SERVER_ERROR',
      5,
    ],
    ['529-for-ever', status(529, now), 'error', 'model_unavailable', UNAVAILABLE, 5],
    ['401', status(401), 'error', 'model_authentication', 'STATUS$ERROR_LLM_AUTHENTICATION', 1],
    ['402', status(402), 'error', 'model_out_of_credits', 'STATUS$ERROR_LLM_OUT_OF_CREDITS', 1],
    [
      'content-filter',
      say('I', { finishReason: 'content_filter' }),
      'error',
      'model_content_policy',
      'STATUS$ERROR_LLM_CONTENT_POLICY_VIOLATION',
      1,
    ],
    ['no-such-model', status(404), 'error', 'model_bad_request', 'STATUS$ERROR', 1],
    ['too-long-for-ever', tooLong, 'error', 'model_context_length', 'STATUS$ERROR', 5],
  ];
  for (const [name, answer, state, code, runtimeStatus, requests] of FAILURES) {
    it(`ends in a state with V0's status and a sentence, and a message goes on: ${name}`, async () => {
      const { view, events, requests: asked } = await run(name, answer);
      assert.deepEqual(
        [view.status, view.agent_state, view.runtime_status, view.error?.code, asked],
        ['RUNNING', state, runtimeStatus, code, requests],
      );
      assert.match(view.error?.message ?? '', /^[A-Z].*\.?/);
      assert.match(view.error?.hint ?? '', /message|start|Start/);
      const last = events.at(-1);
      assert.ok(last && isObservation(last, 'agent_state_changed'));
      // Where V0 has no status of its own for it, our words are shown.
      const words = `${view.error?.message} ${view.error?.hint}`;
      const reason = runtimeStatus === 'STATUS$ERROR' ? words : runtimeStatus;
      assert.deepEqual(last.extras, { agent_state: state, reason });

      SCRIPTS.set(name, byTurn([done]));
      await parley.ok('POST', `/api/conversations/${name}/message`, { message: 'Again.' });
      const mended = await parley.until(name, ({ agent_state }) => agent_state === 'finished');
      assert.equal(mended.error, null);
    });
  }

  const results = (events: readonly Event[]): string[] =>
    events.flatMap((event) =>
      'observation' in event && (isObservation(event, 'run') || isObservation(event, 'error'))
        ? [event.content]
        : [],
    );

  it('tells the model of arguments that are no JSON, and of a tool there is not', async () => {
    const { view, events } = await run(
      'wrong-calls',
      call('execute_bash', '{"command": "ls'),
      call('no_such_tool', { a: 1 }),
      call('execute_bash', { command: 5 }),
      done,
    );
    assert.equal(view.agent_state, 'finished');
    const [json, tool, type] = results(events);
    assert.match(json ?? '', /execute_bash was not called: The arguments are not JSON/);
    assert.match(tool ?? '', /There is no tool "no_such_tool"\. The tools are: execute_bash/);
    assert.match(type ?? '', /execute_bash was not called: command/);
  });

  it('carries out parallel calls in their order, the good beside the bad', async () => {
    const { events } = await run(
      'parallel',
      torn(
        7,
        calls([
          { name: 'execute_bash', input: { command: 'echo one' } },
          { name: 'execute_bash', input: '{"command":' },
          { name: 'execute_bash', input: { command: 'echo two' } },
        ]),
      ),
      done,
    );
    const said = results(events).map((text) => text.trim().split('\n')[0]);
    assert.deepEqual([said[1], said[2]], ['one', 'two']);
    assert.match(said[0] ?? '', /was not called/);
  });

  it('ends an agent that repeats itself, after it was told, and a message goes on', async () => {
    const same = call('execute_bash', { command: 'echo same' });
    const { view, events } = await run('stuck', ...Array<Answer>(20).fill(same));
    assert.deepEqual([view.agent_state, view.error?.code], ['error', 'agent_stuck']);
    assert.equal(events.filter((event) => isAction(event, 'run')).length, 8);
    const last = events.at(-1);
    assert.ok(last && isObservation(last, 'agent_state_changed'));
    assert.equal(last.extras.reason, 'AgentStuckInLoopError: Agent got stuck in a loop');
    const told = model.requests.findLast(({ body }) => nameOf(body) === 'stuck');
    assert.match(JSON.stringify(told?.body.messages), /The last steps repeated themselves/);
    SCRIPTS.set('stuck', () => done);
    await parley.ok('POST', '/api/conversations/stuck/message', { message: 'Stop that.' });
    await parley.until('stuck', ({ agent_state }) => agent_state === 'finished');
  });

  it('counts the repetitions before a crash', async () => {
    const same = call('execute_bash', { command: 'echo same' });
    SCRIPTS.set(
      'stuck-crash',
      byTurn([...Array<Answer>(6).fill(same), gate('crashed', same), ...Array<Answer>(9).fill(same)]),
    );
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'stuck-crash',
      initial_user_msg: 'case:stuck-crash',
    });
    await model.until((requests) =>
      requests.some(({ body, turn }) => turn === 6 && nameOf(body) === 'stuck-crash'),
    );
    await parley.crash();
    model.open('crashed');
    await parley.start();
    const view = await parley.until('stuck-crash', ({ agent_state }) => agent_state === 'error');
    assert.equal(view.error?.code, 'agent_stuck');
    const events = await parley.events('stuck-crash');
    assert.equal(events.filter((event) => isAction(event, 'run')).length, 8);
  });

  it('asks once for each step, through two hundred of them and beside others, in torn pieces', async () => {
    const many = Array.from({ length: 200 }, (_, n) => call('think', { thought: `${n} ${'ü'.repeat(n)}` }));
    const few = Array.from({ length: 30 }, (_, n) => torn(11, call('think', { thought: `${n} 👋` })));
    // Some hundred steps are to be taken, however busy the machine is.
    const patience = 5 * PATIENCE_MS;
    const ran = await Promise.all([
      runWithin(patience, 'many', ...many, done),
      ...['few-1', 'few-2', 'few-3'].map((name) => runWithin(patience, name, ...few, done)),
    ]);
    assert.deepEqual(
      ran.map(({ view, requests }) => [view.agent_state, requests]),
      [
        ['finished', 201],
        ['finished', 31],
        ['finished', 31],
        ['finished', 31],
      ],
    );
  });
});

describe('a model that falls silent', () => {
  it('is asked again, before its answer and in the middle of it', async () => {
    const answers: Record<string, Answer> = {
      before: attempts(silence(), done),
      within: attempts(stall(3), done),
    };
    await using model = await startModelServer(({ body }) => answers[nameOf(body)] ?? status(400));
    await using parley = await startParley({ PARLEY_MODEL_TIMEOUT_SECONDS: '4' });
    await storeModel(parley, model);
    const names = Object.keys(answers);
    for (const conversation_id of names) {
      await parley.ok('POST', '/api/conversations', {
        conversation_id,
        initial_user_msg: `case:${conversation_id}`,
      });
    }
    for (const name of names) {
      const view = await parley.until(
        name,
        ({ agent_state, error }) => agent_state === 'finished' || error !== null,
      );
      assert.equal(view.error, null);
      assert.ok(model.requests.filter(({ body }) => nameOf(body) === name).length >= 2);
    }
  });
});

describe('a run that takes too long', () => {
  it('is ended, its command with it; a message goes on', async () => {
    await using model = await startModelServer(
      byTurn([call('execute_bash', { command: 'sleep 100' }), done]),
    );
    await using parley = await startParley({ PARLEY_RUN_TIMEOUT_SECONDS: '6' });
    await storeModel(parley, model);
    await parley.ok('POST', '/api/conversations', { conversation_id: 'late', initial_user_msg: 'go' });
    const view = await parley.until('late', ({ error }) => error !== null);
    assert.deepEqual([view.agent_state, view.error?.code], ['error', 'run_timed_out']);
    // With time enough, however busy the machine is.
    await parley.stop();
    await parley.start({ env: { PARLEY_RUN_TIMEOUT_SECONDS: '600' } });
    await parley.ok('POST', '/api/conversations/late/message', { message: 'Go on.' });
    await parley.until('late', ({ agent_state }) => agent_state === 'finished');
  });
});

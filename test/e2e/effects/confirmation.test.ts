import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../../src/events/event.ts';
import { call, calls, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const run = (command: string, risk?: string) => ({
  name: 'execute_bash',
  input: { command, ...(risk === undefined ? {} : { security_risk: risk }) },
});
const one = ({ name, input }: ReturnType<typeof run>, text = 'Now this.') => call(name, input, { text });
const done = call('finish', { message: 'done' });

/** An event in a word, with what is of interest here. */
function told(event: Event): string[] {
  if (isObservation(event, 'agent_state_changed')) return [event.extras.agent_state];
  if ('observation' in event) return event.cause === undefined ? [] : [`→ ${event.observation}`];
  if (event.source !== 'agent' || event.action === 'system') return [];
  const state = 'confirmation_state' in event.args ? ` ${event.args.confirmation_state}` : '';
  return [`${event.action}${state}`];
}

/** Whether it asks the user about an action. */
const isQuestion = (event: Event): boolean =>
  told(event).some((word) => word.endsWith(' awaiting_confirmation'));

describe('confirmation', () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley({ PARLEY_ALLOW_PRIVATE_HOSTS: '*' });
  });
  after(() => parley.close());

  const path = (id: string, rest = ''): string => `/api/conversations/${id}${rest}`;
  const decide = (id: string, agent_state: string, thought?: string) =>
    parley.request('POST', path(id, '/events'), {
      action: 'change_agent_state',
      args: { agent_state, ...(thought === undefined ? {} : { thought }) },
    });
  const inState = (id: string, state: string) => parley.until(id, ({ agent_state }) => agent_state === state);
  const asked = (id: string) => inState(id, 'awaiting_user_confirmation');
  const finished = (id: string) => inState(id, 'finished');
  /** What the commands have written. */
  const written = async (id: string): Promise<string[]> => {
    const { status, body } = await parley.request('GET', path(id, '/select-file?file=done'));
    return status === 200 ? (body as { code: string }).code.trim().split('\n') : [];
  };
  const settings = (model: ModelServer, confirmation_mode: boolean, security_analyzer: string | null) =>
    parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      confirmation_mode,
      security_analyzer,
    });
  const begin = (id: string) =>
    parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Do it.' });

  const LOW = 'echo low >> /workspace/done';
  const HIGH = 'echo high >> /workspace/done; sudo true || true';
  const matrix = [
    { mode: false, analyzer: null, asks: [], risks: [-1, -1] },
    { mode: false, analyzer: 'rules', asks: [], risks: [0, 2] },
    { mode: false, analyzer: 'llm', asks: [], risks: [1, 2] },
    { mode: true, analyzer: null, asks: [LOW, HIGH], risks: [-1, -1] },
    { mode: true, analyzer: 'rules', asks: [HIGH], risks: [0, 2] },
    { mode: true, analyzer: 'llm', asks: [HIGH], risks: [1, 2] },
  ];
  it('of one user is not asked of another who works at the same time, nor answered by them', async () => {
    const printed = await parley.command('keys', 'create', '--user', 'other');
    const other = printed.trimEnd().split('\n').at(-1);
    await using theirs = await startModelServer(byTurn([one(run(HIGH, 'HIGH')), done], say('A title')));
    await using model = await startModelServer(byTurn([one(run(HIGH, 'LOW')), done], say('A title')));
    await settings(model, true, 'rules');
    const chosen = {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-the-key-of-other',
      llm_base_url: theirs.baseUrl,
    };
    await parley.ok(
      'POST',
      '/api/settings',
      { ...chosen, confirmation_mode: false, security_analyzer: 'llm' },
      other,
    );
    await begin('both');
    await parley.ok(
      'POST',
      '/api/conversations',
      { conversation_id: 'both', initial_user_msg: 'Do it.' },
      other,
    );
    await asked('both');
    await parley.until('both', ({ agent_state }) => agent_state === 'finished', undefined, other);
    const confirmed = { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } };
    assert.equal((await parley.request('POST', path('both', '/events'), confirmed, other)).status, 409);
    await asked('both');
    assert.deepEqual(await written('both'), []);
    await decide('both', 'user_rejected');
    await inState('both', 'awaiting_user_input');
    assert.deepEqual(await written('both'), []);
    assert.equal(
      model.requests.some(({ headers }) => JSON.stringify(headers).includes('sk-the-key-of-other')),
      false,
    );
  });

  for (const [n, { mode, analyzer, asks, risks }] of matrix.entries()) {
    it(`asks about ${asks.length} of two with the mode ${mode ? 'on' : 'off'} and the analyzer ${analyzer}`, async () => {
      await using model = await startModelServer(
        byTurn([one(run(LOW, 'MEDIUM')), one(run(HIGH, 'HIGH')), done], say('A title')),
      );
      await settings(model, mode, analyzer);
      const id = `matrix-${n}`;
      await begin(id);
      for (const command of asks) {
        await asked(id);
        const last = (await parley.events(id)).findLast(({ source }) => source === 'agent');
        assert.ok(last && isAction(last, 'run'));
        assert.deepEqual(
          [last.args.command, last.args.confirmation_state],
          [command, 'awaiting_confirmation'],
        );
        assert.doesNotMatch((await written(id)).join(' '), command === LOW ? /./ : /high/);
        assert.equal((await decide(id, 'user_confirmed')).status, 200);
        await parley.untilEvents(id, (events) =>
          events.some((event) => isObservation(event, 'run') && event.extras.command === command),
        );
      }
      await finished(id);
      const runs = (await parley.events(id)).flatMap((event) =>
        isAction(event, 'run') && event.args.confirmation_state === 'confirmed' ? [event] : [],
      );
      assert.deepEqual(
        runs.map(({ args }) => args.security_risk),
        risks,
      );
      assert.deepEqual(await written(id), ['low', 'high']);
    });
  }

  it('writes what V0 writes: the action twice, its thought once, and the model is told one call', async () => {
    await using model = await startModelServer(
      byTurn([one(run('echo a >> /workspace/done')), done], say('T')),
    );
    await settings(model, true, null);
    await begin('wire');
    await asked('wire');
    await decide('wire', 'user_confirmed');
    await finished('wire');
    const events = await parley.events('wire');
    const first = events.findIndex((event) => told(event)[0] === 'awaiting_user_confirmation');
    assert.deepEqual(events.slice(first).flatMap(told).slice(0, 6), [
      'awaiting_user_confirmation',
      'run awaiting_confirmation',
      'user_confirmed',
      'run confirmed',
      '→ run',
      'running',
    ]);
    const [question, again] = events.flatMap((event) => (isAction(event, 'run') ? [event] : []));
    assert.deepEqual([question?.args.thought, again?.args.thought], ['Now this.', '']);
    assert.notEqual(question?.id, again?.id);
    const answer = events.find((event) => isObservation(event, 'run'));
    assert.equal(answer && 'cause' in answer ? answer.cause : null, again?.id);
    const messages = model.requests.at(-1)?.body.messages ?? [];
    assert.deepEqual(messages.map(({ role }) => role).slice(-2), ['assistant', 'tool']);
    assert.equal(messages.filter(({ tool_calls }) => tool_calls).length, 1);
  });

  it('waits through a crash and a restart, and a message meanwhile waits too', async () => {
    await using model = await startModelServer(
      byTurn([one(run('echo a >> /workspace/done')), done, done], say('T')),
    );
    await settings(model, true, null);
    await begin('crash');
    await asked('crash');
    await parley.crash();
    await parley.start();
    await parley.ok('POST', path('crash', '/start'));
    await parley.ok('POST', path('crash', '/message'), { message: 'Hurry up, please.' });
    assert.equal(await parley.stop(), 0);
    await parley.start();
    await asked('crash');
    assert.deepEqual(await written('crash'), []);
    assert.equal((await decide('crash', 'user_confirmed')).status, 200);
    await finished('crash');
    assert.deepEqual(await written('crash'), ['a']);
    assert.match(JSON.stringify(model.requests.at(-1)?.body), /Hurry up, please\./);
    assert.equal((await decide('crash', 'user_confirmed')).status, 409);
    assert.equal((await decide('crash', 'user_rejected')).status, 409);
  });

  it('takes the first of two answers that come at once', async () => {
    await using model = await startModelServer(
      byTurn([one(run('echo a >> /workspace/done; sleep 0.3')), done], say('T')),
    );
    await settings(model, true, null);
    await begin('twice');
    await asked('twice');
    const answers = await Promise.all([1, 2, 3, 4].map(() => decide('twice', 'user_confirmed')));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409, 409, 409],
    );
    await finished('twice');
    assert.deepEqual(await written('twice'), ['a']);
    const results = (await parley.events('twice')).flatMap((event) =>
      isObservation(event, 'run') ? [event.extras.metadata.exit_code] : [],
    );
    assert.deepEqual(results, [0]);
  });

  it('does not do what is rejected, nor what came with it, and the agent is told why', async () => {
    const both = calls([run('echo a >> /workspace/done'), run('echo b >> /workspace/done')]);
    await using model = await startModelServer(byTurn([both, done], say('T')));
    await settings(model, true, null);
    await begin('rejected');
    await asked('rejected');
    assert.equal((await decide('rejected', 'user_rejected', 'Use the other file.')).status, 200);
    await inState('rejected', 'awaiting_user_input');
    const events = await parley.events('rejected');
    const first = events.findIndex((event) => told(event)[0] === 'user_rejected');
    assert.deepEqual(events.slice(first).flatMap(told), [
      'user_rejected',
      'run rejected',
      '→ user_rejected',
      'awaiting_user_input',
    ]);
    await parley.ok('POST', path('rejected', '/message'), { message: 'Go on then.' });
    await finished('rejected');
    const seen = JSON.stringify(model.requests.at(-1)?.body);
    for (const text of ['Use the other file.', 'the user rejected the action before it', 'Go on then.']) {
      assert.ok(seen.includes(text), text);
    }
    assert.deepEqual(await written('rejected'), []);
  });

  it('asks about each call of one answer in its turn, also after a crash between them', async () => {
    const three = calls([
      { name: 'think', input: { thought: 'hm' } },
      run('echo a >> /workspace/done'),
      run('echo b >> /workspace/done'),
      { name: 'str_replace_editor', input: { command: 'view', path: '/workspace/done' } },
    ]);
    await using model = await startModelServer(byTurn([three, done], say('T')));
    await settings(model, true, null);
    await begin('several');
    for (const nth of [1, 2, 3]) {
      await parley.untilEvents('several', (events) => events.filter(isQuestion).length === nth);
      // Not sooner: what was begun when it crashed is not done again.
      if (nth === 2) await parley.crash().then(() => parley.start());
      await asked('several');
      assert.equal((await decide('several', 'user_confirmed')).status, 200);
    }
    await finished('several');
    assert.deepEqual(await written('several'), ['a', 'b']);
    const last = model.requests.at(-1)?.body.messages ?? [];
    const step = last.find(({ tool_calls }) => tool_calls);
    assert.equal(step?.tool_calls?.length, 4);
    assert.equal(last.filter(({ role }) => role === 'tool').length, 4);
    assert.equal(model.requests.filter(({ body }) => body.tools?.length).length, 2);
  });

  it('is answered by a stop, after which the agent goes on with what its user says', async () => {
    await using model = await startModelServer(
      byTurn([calls([run('echo a >> /workspace/done'), run('echo b >> /workspace/done')]), done], say('T')),
    );
    await settings(model, true, null);
    await begin('stopped');
    await asked('stopped');
    await parley.ok('POST', path('stopped', '/stop'));
    assert.equal((await decide('stopped', 'user_confirmed')).status, 409);
    await parley.ok('POST', path('stopped', '/message'), { message: 'Leave that.' });
    await finished('stopped');
    assert.deepEqual(await written('stopped'), []);
    assert.match(JSON.stringify(model.requests.at(-1)?.body), /stopped before this was begun/);
  });
});

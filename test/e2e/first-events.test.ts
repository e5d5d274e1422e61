import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Event } from '../../src/events/event.ts';
import { gate, say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';

/** Each event by its kind; of a state, which; of a message of the user, its text. */
function named(event: Event): string {
  if ('observation' in event) {
    if (event.observation !== 'agent_state_changed') return `${event.observation}!`;
    return event.extras.agent_state;
  }
  if (event.action === 'change_agent_state') return `ask ${event.args.agent_state}`;
  return event.action === 'message' && event.source === 'user' ? `"${event.args.content}"` : event.action;
}

/** In the order of the log; what a title cost is written when it is known. */
const kinds = (events: readonly Event[]): string[] => events.map(named).filter((kind) => kind !== 'null!');

/** From the user's words to the agent's answer. */
const ANSWERED = ['recall', 'running', 'recall!', 'message', 'awaiting_user_input'];

describe('the first events of a conversation', () => {
  let parley: Parley;
  let model: ModelServer;

  before(async () => {
    model = await startModelServer(({ body }) =>
      JSON.stringify(body.messages.at(-1)).includes('please hold')
        ? gate('held', say('Done.'))
        : say('Done.'),
    );
    // One runs at a time: the others are seen while they wait.
    parley = await startParley({ PARLEY_SANDBOX: 'none', PARLEY_MAX_RUNNING: '1' });
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      enable_solvability_analysis: false,
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const create = (body: object): Promise<unknown> => parley.ok('POST', '/api/conversations', body);
  const log = async (id: string, state = 'awaiting_user_input'): Promise<string[]> => {
    await parley.until(id, ({ agent_state }) => agent_state === state);
    return kinds(await parley.events(id));
  };

  it('are the state, who the agent is, what its user says, and that it begins', async () => {
    await create({ conversation_id: 'told', initial_user_msg: 'hello' });
    assert.deepEqual(await log('told'), ['loading', 'system', '"hello"', 'ask running', ...ANSWERED]);
  });

  it('are the state, who the agent is, and that it waits, where nothing is said', async () => {
    await create({ conversation_id: 'silent' });
    const begun = ['loading', 'system', 'ask awaiting_user_input', 'awaiting_user_input'];
    assert.deepEqual(await log('silent'), begun);
    await parley.ok('POST', '/api/conversations/silent/stop');
    await parley.ok('POST', '/api/conversations/silent/start', {});
    const again = ['stopped', 'loading', 'ask awaiting_user_input', 'awaiting_user_input'];
    assert.deepEqual(await log('silent'), [...begun, ...again]);
    await parley.ok('POST', '/api/conversations/silent/message', { message: 'now' });
    const events = await parley.untilEvents('silent', (all) => kinds(all).at(-2) === 'message');
    assert.deepEqual(kinds(events), [...begun, ...again, '"now"', ...ANSWERED]);
  });

  it('of a replay have the introduction before the message that it begins with', async () => {
    const replay_json = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'recorded' } },
      { source: 'agent', action: 'finish', args: { final_thought: 'done', outputs: {} } },
    ]);
    await create({ conversation_id: 'replayed', replay_json });
    const [first, second, third, fourth] = await log('replayed', 'finished');
    assert.deepEqual([first, second, third, fourth], ['loading', 'system', '"recorded"', 'ask running']);
  });

  it('wait for the turn of a conversation with all but its state, and come after whatever happened by then', async () => {
    await create({ conversation_id: 'holds', initial_user_msg: 'please hold' });
    await parley.untilEvents('holds', (events) => kinds(events).includes('recall!'));
    for (const id of ['waits', 'stopped', 'joined', 'spoken']) {
      await create({ conversation_id: id, initial_user_msg: 'first' });
    }
    await parley.ok('POST', '/api/conversations/stopped/stop');
    await create({ conversation_id: 'joined', initial_user_msg: 'second' });
    await parley.ok('POST', '/api/conversations/spoken/message', { message: 'second' });
    await parley.crash();
    await parley.start();
    await create({ conversation_id: 'joined', initial_user_msg: 'first' });
    await create({ conversation_id: 'stopped', initial_user_msg: 'first' });
    const logged = async (id: string): Promise<string[]> => kinds(await parley.events(id));
    assert.deepEqual(await logged('waits'), ['loading']);
    assert.deepEqual(await logged('stopped'), ['loading', 'stopped', 'loading']);
    assert.deepEqual(await logged('joined'), ['loading', '"first"', '"second"']);
    assert.deepEqual(await logged('spoken'), ['loading', '"first"', '"second"']);

    model.open('held');
    const begun = ['system', '"first"', 'ask running', ...ANSWERED];
    assert.deepEqual(await log('waits'), ['loading', ...begun]);
    assert.deepEqual(await log('stopped'), ['loading', 'stopped', 'loading', ...begun]);
    // Who speaks before the agent is there is heard in order, and the agent comes after.
    const late = ['loading', '"first"', '"second"', 'system', 'ask running', ...ANSWERED];
    assert.deepEqual(await log('joined'), late);
    assert.deepEqual(await log('spoken'), late);
  });

  it('have no introduction where no model is there to have one', async () => {
    await parley.ok('POST', '/api/settings', { agent: 'DummyAgent' });
    // It finds no sandbox here, and says so.
    await create({ conversation_id: 'dummy', initial_user_msg: 'check' });
    const checked = await log('dummy', 'error');
    assert.deepEqual(checked.slice(0, 6), ['loading', '"check"', 'ask running', ...ANSWERED.slice(0, 3)]);
    await parley.ok('POST', '/api/settings', { agent: 'CodeActAgent', llm_model: null });
    await create({ conversation_id: 'nobody', initial_user_msg: 'hello' });
    assert.deepEqual(await log('nobody', 'error'), ['loading', '"hello"', 'error!', 'error']);
    await create({ conversation_id: 'noted' });
    const waits = ['loading', 'ask awaiting_user_input', 'awaiting_user_input'];
    assert.deepEqual(await log('noted'), waits);
    const thought = { action: 'think', args: { thought: 'hm' } };
    await parley.ok('POST', '/api/conversations/noted/events', thought);
    const events = await parley.untilEvents('noted', (all) => kinds(all).length === 5);
    assert.deepEqual(kinds(events), [...waits, 'think', 'think!'], 'what the user does needs no model');
  });
});

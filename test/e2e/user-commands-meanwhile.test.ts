import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { type Answer, attempts, call, gate, say, status } from '../support/model/answers.ts';
import { exhausted, type ModelRequest } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeModel } from '../support/stored.ts';

/** By conversation: its first message is its id. */
const SCRIPT: Record<string, readonly Answer[]> = {
  busy: [
    gate('busy', call('execute_bash', { command: 'export PLACE=theirs; echo work' })),
    gate('told', say('Done.')),
  ],
  paused: [gate('paused', say('Done.'))],
  ill: [attempts(status(401), say('Well again.'))],
  crashed: [gate('crashed', say('Done.'))],
  stopped: [gate('stopped', say('Done.'))],
};

const of = ({ body }: ModelRequest): string =>
  Object.keys(SCRIPT).find((id) => JSON.stringify(body.messages).includes(`Do: ${id}`)) ?? '';

describe("a command of the user's own while the agent does not wait for its user", () => {
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    model = await startModelServer((request) =>
      request.body.tools?.length
        ? (SCRIPT[of(request)]?.[request.turn] ?? exhausted(of(request)))
        : say('A title'),
    );
    parley = await startParley();
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const post = (id: string, action: string, args: object) =>
    parley.request('POST', `/api/conversations/${id}/events`, { action, args });
  const run = async (id: string, command: string): Promise<void> =>
    assert.deepEqual((await post(id, 'run', { command })).body, { success: true });
  const stepsOf = (id: string): ModelRequest[] =>
    model.requests.filter((request) => of(request) === id && request.body.tools?.length);
  const asked = (events: readonly Event[], command: string) =>
    events.find((event) => isAction(event, 'run') && event.args.command === command);
  const answerTo = (events: readonly Event[], command: string) => {
    const id = asked(events, command)?.id;
    return events.find((event) => 'observation' in event && event.cause === id && id !== undefined);
  };
  const answered = async (id: string, command: string): Promise<Event> => {
    const answer = answerTo(await parley.untilEvents(id, (all) => !!answerTo(all, command)), command);
    assert.ok(answer);
    return answer;
  };
  const outputOf = (event: Event): string => {
    assert.ok(isObservation(event, 'run'), JSON.stringify(event));
    return event.content.trim();
  };
  const statesOf = (events: readonly Event[]) =>
    events.flatMap((event) =>
      isObservation(event, 'agent_state_changed') ? [event.extras.agent_state] : [],
    );
  const begin = async (id: string): Promise<void> => {
    await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: `Do: ${id}` });
    await model.until(() => stepsOf(id).length === 1);
  };
  const inState = (id: string, state: string) => parley.until(id, ({ agent_state }) => agent_state === state);

  it('is recorded at once while it works, done after what it does, and told to it before its next step', async () => {
    await begin('busy');
    await run('busy', 'echo "mine after $PLACE"');
    assert.equal((await post('busy', 'think', { thought: 'Let me see.' })).status, 200);
    const recorded = await parley.events('busy');
    assert.equal(asked(recorded, 'echo "mine after $PLACE"')?.source, 'user');
    assert.equal(answerTo(recorded, 'echo "mine after $PLACE"'), undefined);

    model.open('busy');
    assert.equal(outputOf(await answered('busy', 'echo "mine after $PLACE"')), 'mine after theirs');
    await model.until(() => stepsOf('busy').length === 2);
    assert.match(JSON.stringify(stepsOf('busy')[1]?.body.messages), /mine after theirs[^]*Let me see\./);
    model.open('told');
    await inState('busy', 'awaiting_user_input');
    assert.deepEqual(statesOf(await parley.events('busy')), ['loading', 'running', 'awaiting_user_input']);
  });

  it('is done while it is paused, and does not wake it', async () => {
    await begin('paused');
    await post('paused', 'change_agent_state', { agent_state: 'paused' });
    await inState('paused', 'paused');
    await run('paused', 'echo while paused');
    assert.equal(outputOf(await answered('paused', 'echo while paused')), 'while paused');
    assert.deepEqual(statesOf(await parley.events('paused')), ['loading', 'running', 'paused']);
    assert.equal(stepsOf('paused').length, 1);

    model.open('paused');
    await post('paused', 'change_agent_state', { agent_state: 'running' });
    await inState('paused', 'awaiting_user_input');
    assert.match(JSON.stringify(stepsOf('paused').at(-1)?.body.messages), /while paused/);
  });

  it('is done while it stands in an error, which stays until its user speaks', async () => {
    await begin('ill');
    const { error } = await inState('ill', 'error');
    await run('ill', 'echo while ill');
    assert.equal(outputOf(await answered('ill', 'echo while ill')), 'while ill');
    const view = await inState('ill', 'error');
    assert.deepEqual(view.error, error);
    assert.equal(stepsOf('ill').length, 1);

    await parley.ok('POST', '/api/conversations/ill/message', { message: 'Here is another key.' });
    await inState('ill', 'awaiting_user_input');
    assert.match(JSON.stringify(stepsOf('ill').at(-1)?.body.messages), /while ill/);
  });

  it('is done after a crash that came before it was begun, once', async () => {
    await begin('crashed');
    await run('crashed', 'echo once >> once; cat once');
    await parley.crash();
    await parley.start();
    assert.equal(outputOf(await answered('crashed', 'echo once >> once; cat once')), 'once');
    model.open('crashed');
    await inState('crashed', 'awaiting_user_input');
  });

  it('is answered as not begun by a stop, and refused after it', async () => {
    await begin('stopped');
    await run('stopped', 'echo never');
    await parley.ok('POST', '/api/conversations/stopped/stop');
    const answer = await answered('stopped', 'echo never');
    assert.ok(isObservation(answer, 'error') && answer.content.includes('before this was begun'));
    const refused = await post('stopped', 'run', { command: 'echo no' });
    assert.deepEqual([refused.status, (refused.body as { code: string }).code], [409, 'conflict']);
    assert.equal(asked(await parley.events('stopped'), 'echo no'), undefined);
  });
});

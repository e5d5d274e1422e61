import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pino } from 'pino';
import {
  type Agent,
  NO_SANDBOX,
  startConversations,
  type TestConversations,
} from '../../test/support/conversations.ts';
import type { AgentContext } from '../agent/context.ts';
import { action, agentMessage, observation, stateChanged, userMessage } from '../events/build.ts';
import { ServiceError } from '../errors.ts';
import { type Event, isObservation, type NewEvent } from '../events/event.ts';
import type { SandboxProvider } from '../sandbox/sandbox.ts';

/** Something a test waits for and lets happen. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const run = (command: string): NewEvent =>
  action('agent', 'run', `Running command: ${command}`, {
    command,
    is_input: false,
    thought: '',
    blocking: false,
    is_static: false,
    cwd: null,
    hidden: false,
    confirmation_state: 'confirmed',
    security_risk: -1,
  });

/** Reads all, says how many messages of the user it saw, and waits. */
const counting: Agent = async ({ journal }) => {
  const events = await journal.read(0, 1000);
  const said = events.filter(
    (event) => 'action' in event && event.action === 'message' && event.source === 'user',
  );
  await journal.append([agentMessage(`I saw ${said.length}`), stateChanged('awaiting_user_input')]);
  return { kind: 'waiting' };
};

const texts = (events: readonly Event[]): string[] =>
  events.flatMap((event) => ('action' in event && event.action === 'message' ? [event.args.content] : []));
const states = (events: readonly Event[]): string[] =>
  events.flatMap((event) =>
    'observation' in event && event.observation === 'agent_state_changed' ? [event.extras.agent_state] : [],
  );

describe('driving a conversation', () => {
  let c: TestConversations;
  before(async () => {
    c = await startConversations();
  });
  after(() => c.close());
  beforeEach(() => {
    c.agent = counting;
  });

  it('takes up the first message, and waits', async () => {
    const made = await c.service.create(c.principal, { conversation_id: 'first', initial_user_msg: 'hello' });
    assert.equal(made.conversation_status, 'STARTING');
    await c.until('first', (view) => view.agent_state === 'awaiting_user_input');
    const view = await c.service.get(c.principal, 'first');
    assert.equal(view.status, 'RUNNING');
    assert.equal(view.runtime_status, 'STATUS$READY');
    assert.deepEqual(texts(await c.events('first')), ['hello', 'I saw 1']);
  });

  it('is ready without a message and without a sandbox', async () => {
    await c.service.create(c.principal, { conversation_id: 'empty' });
    await c.until('empty', (view) => view.agent_state === 'awaiting_user_input');
    assert.deepEqual(states(await c.events('empty')), ['loading', 'awaiting_user_input']);
  });

  it('goes on when a message comes after the agent has looked for the last time', async () => {
    const looked = gate();
    const said = gate();
    let runs = 0;
    c.agent = async (context) => {
      runs += 1;
      const outcome = await counting(context);
      if (runs === 1) {
        looked.open();
        await said.opened;
      }
      return outcome;
    };
    await c.service.create(c.principal, { conversation_id: 'late', initial_user_msg: 'one' });
    await looked.opened;
    await c.service.message(c.principal, 'late', { content: 'two' });
    said.open();
    await c.settled('late');
    assert.deepEqual(texts(await c.events('late')), ['one', 'I saw 1', 'two', 'I saw 2']);
  });

  it('stops at once, answers what was open, and goes on with a start', async () => {
    const working = gate();
    c.agent = async ({ journal, signal }: AgentContext) => {
      await journal.recordStep([run('sleep 1000')], { iterations: 1, open: [0], started: 0 });
      working.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { kind: 'aborted' };
    };
    await c.service.create(c.principal, { conversation_id: 'stopped', initial_user_msg: 'work' });
    await working.opened;
    assert.equal(await c.service.stop(c.principal, 'stopped'), 'RUNNING');
    const view = await c.service.get(c.principal, 'stopped');
    assert.equal(view.status, 'STOPPED');
    assert.equal(view.agent_state, 'stopped');
    const events = await c.events('stopped');
    const action = events.find((event) => 'action' in event && event.action === 'run');
    const answer = events.find((event) => 'observation' in event && event.observation === 'error');
    assert.ok(answer && 'cause' in answer);
    assert.equal(answer.cause, action?.id);
    assert.equal(await c.service.stop(c.principal, 'stopped'), 'STOPPED', 'a second stop finds nothing');

    c.agent = counting;
    const started = await c.service.start(c.principal, 'stopped');
    assert.equal(started.conversation_status, 'STARTING');
    await c.until('stopped', (now) => now.agent_state === 'awaiting_user_input');
    assert.equal(texts(await c.events('stopped')).at(-1), 'I saw 1', 'unfinished work goes on');
  });

  it('does not go on by itself after a start when the agent had finished', async () => {
    let runs = 0;
    c.agent = (context) => {
      runs += 1;
      return counting(context);
    };
    await c.service.create(c.principal, { conversation_id: 'done', initial_user_msg: 'x' });
    await c.settled('done');
    await c.service.stop(c.principal, 'done');
    await c.service.start(c.principal, 'done');
    await c.until('done', (view) => view.status === 'RUNNING' && view.agent_state === 'awaiting_user_input');
    assert.equal(runs, 1);
    const last = states(await c.events('done')).slice(-3);
    assert.deepEqual(last, ['stopped', 'loading', 'awaiting_user_input'], 'it begins as a new one does');
    await c.service.message(c.principal, 'done', { content: 'y' });
    await c.until('done', () => runs === 2);
  });

  it('refuses every write of a run that was fenced', async () => {
    const working = gate();
    const fenced = gate();
    const errors: string[] = [];
    c.agent = async ({ journal, signal }) => {
      working.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      await fenced.opened;
      for (const write of [
        () => journal.append([agentMessage('too late')]),
        () => journal.start(0),
        () => journal.recordStep([agentMessage('too late')], { iterations: 1, open: [] }),
        () => journal.answer([observation('agent', 'think', 'too late', {}, { cause: 0 })]),
      ]) {
        await write().catch((error: unknown) => errors.push((error as Error).name));
      }
      return { kind: 'aborted' };
    };
    await c.service.create(c.principal, { conversation_id: 'fenced', initial_user_msg: 'x' });
    await working.opened;
    const { key } = (await c.storage.read.conversations.find(c.principal.userId, 'fenced')) ?? { key: 0 };
    const interrupted = c.driver.interrupt(key);
    await c.storage.transact(({ conversations }) => conversations.fence(key));
    fenced.open();
    await interrupted;
    assert.deepEqual(errors, ['Fenced', 'Fenced', 'Fenced', 'Fenced']);
    assert.deepEqual(texts(await c.events('fenced')), ['x']);
  });

  it('takes up again what a dead process drove, without a second run beside the first', async () => {
    await c.service.create(c.principal, { conversation_id: 'orphan' });
    await c.until('orphan', (view) => view.agent_state === 'awaiting_user_input');
    const { key } = (await c.storage.read.conversations.find(c.principal.userId, 'orphan')) ?? { key: 0 };
    await c.storage.transact(async ({ conversations, events }) => {
      await events.append(key, [userMessage('x')]);
      await conversations.change(key, { wanted: true, unfinished: true });
      await conversations.claim(key, 'a process that died');
    });
    await c.sweep.sweep();
    assert.equal(
      (await c.storage.read.conversations.get(key))?.driver,
      'a process that died',
      'once is no proof',
    );
    await c.sweep.sweep();
    await c.settled('orphan');
    assert.equal((await c.storage.read.conversations.get(key))?.driver, null);
  });

  it('says what to store when no model is configured, and goes on once it is there', async () => {
    const { settings } = c;
    c.settings = { ...settings, model: null };
    await c.service.create(c.principal, { conversation_id: 'modelless', initial_user_msg: 'x' });
    await c.until('modelless', (view) => view.error !== null);
    const view = await c.service.get(c.principal, 'modelless');
    assert.equal(view.error?.code, 'model_not_configured');
    assert.equal(view.status, 'RUNNING');
    assert.equal(view.agent_state, 'error');
    c.settings = settings;
    await c.service.start(c.principal, 'modelless');
    await c.until('modelless', (now) => now.agent_state === 'awaiting_user_input');
    assert.equal((await c.service.get(c.principal, 'modelless')).error, null);
  });

  it('ends in an error one can read when the agent breaks, and can be started again', async () => {
    c.agent = () => Promise.reject(new TypeError('a fault'));
    await c.service.create(c.principal, { conversation_id: 'broken', initial_user_msg: 'x' });
    await c.until('broken', (view) => view.agent_state === 'error');
    assert.equal((await c.service.get(c.principal, 'broken')).error?.code, 'internal');
    assert.ok(!JSON.stringify(await c.events('broken')).includes('a fault'));
    c.agent = counting;
    await c.service.start(c.principal, 'broken');
    await c.until('broken', (view) => view.agent_state === 'awaiting_user_input');
  });

  it('tries a start again that failed while the user said something', async () => {
    const opening = gate();
    const said = gate();
    let opened = 0;
    const refusing: SandboxProvider = {
      ...NO_SANDBOX,
      open: async () => {
        opened += 1;
        opening.open();
        await said.opened;
        throw new ServiceError('sandbox_unavailable', 'none to be had');
      },
    };
    const other = await startConversations({ provider: refusing });
    other.agent = () => assert.fail('nothing is prepared for the agent');
    const body = { conversation_id: 'again', repository: 'acme/app', initial_user_msg: 'one' };
    await other.service.create(other.principal, body);
    await opening.opened;
    await other.service.message(other.principal, 'again', { content: 'two' });
    said.open();
    await other.settled('again');
    assert.equal((await other.service.get(other.principal, 'again')).status, 'ERROR');
    assert.equal(opened, 2);
    await other.close();
  });

  it('stores no secret that a user or an agent writes', async () => {
    c.agent = async ({ journal }) => {
      await journal.read(0, 10);
      const noted = observation('agent', 'think', 'noted a-live-secret', {});
      const answers = [{ to: 0, event: noted }];
      await journal.recordStep([run('echo a-live-secret')], { iterations: 1, open: [], answers });
      await journal.append([agentMessage('it is a-live-secret'), stateChanged('awaiting_user_input')]);
      return { kind: 'waiting' };
    };
    await c.service.create(c.principal, { conversation_id: 'secret', initial_user_msg: 'use a-live-secret' });
    await c.until('secret', (view) => view.agent_state === 'awaiting_user_input');
    const events = await c.events('secret');
    assert.deepEqual(texts(events), ['use <secret_hidden>', 'it is <secret_hidden>']);
    const done = events.find((event) => 'action' in event && event.action === 'run');
    const answer = events.find((event) => isObservation(event, 'think'));
    assert.ok(answer && 'content' in answer && done);
    assert.deepEqual([answer.content, answer.cause], ['noted <secret_hidden>', done.id]);
    assert.doesNotMatch(JSON.stringify(events), /a-live-secret/);
    assert.equal((await c.service.get(c.principal, 'secret')).title, 'use <secret_hidden>');
  });

  it('pauses the agent without stopping the conversation', async () => {
    const working = gate();
    c.agent = async ({ signal }) => {
      working.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { kind: 'aborted' };
    };
    await c.service.create(c.principal, { conversation_id: 'paused', initial_user_msg: 'x' });
    await working.opened;
    await c.service.changeAgentState(c.principal, 'paused', 'paused');
    const view = await c.service.get(c.principal, 'paused');
    assert.deepEqual([view.status, view.agent_state], ['RUNNING', 'paused']);
    c.agent = counting;
    await c.service.changeAgentState(c.principal, 'paused', 'running');
    await c.until('paused', (now) => now.agent_state === 'awaiting_user_input');
  });

  it('ends a start that was under way when the agent was paused, and leaves it paused', async () => {
    const limits = { perUser: 1, total: 1 };
    const other = await startConversations({ limits });
    const busy = gate();
    other.agent = async ({ signal }) => {
      busy.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { kind: 'aborted' };
    };
    await other.service.create(other.principal, { conversation_id: 'first', initial_user_msg: 'x' });
    await busy.opened;
    await other.service.create(other.principal, { conversation_id: 'second', initial_user_msg: 'x' });
    await other.service.changeAgentState(other.principal, 'second', 'paused');
    await other.service.stop(other.principal, 'first');
    await other.settled('second');
    const view = await other.service.get(other.principal, 'second');
    assert.deepEqual([view.status, view.agent_state], ['RUNNING', 'paused']);
    await other.close();
  });

  it('stops what is idle, and leaves alone what got something to do meanwhile', async () => {
    const later = new Date(Date.now() + 60_000);
    const other = await startConversations();
    const { service, principal } = other;
    await service.create(principal, { conversation_id: 'idle' });
    await service.create(principal, { conversation_id: 'woken' });
    for (const id of ['idle', 'woken']) await other.settled(id);
    const working = gate();
    other.agent = async ({ signal }) => {
      working.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { kind: 'aborted' };
    };
    // Asked first: it finds both idle, and comes to the second when that has its message.
    const stopping = service.stopIdle(later, 10);
    await service.message(principal, 'woken', { content: 'x' });
    assert.equal(await stopping, 1);
    await working.opened;
    assert.equal((await service.get(principal, 'idle')).status, 'STOPPED');
    assert.equal((await service.get(principal, 'woken')).status, 'RUNNING');
    await other.close();
  });

  it('removes all of a conversation, and its id can be used again', async () => {
    const working = gate();
    c.agent = async ({ signal }) => {
      working.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { kind: 'aborted' };
    };
    await c.service.create(c.principal, { conversation_id: 'gone', initial_user_msg: 'x' });
    await working.opened;
    await c.service.remove(c.principal, 'gone');
    await assert.rejects(c.service.get(c.principal, 'gone'), { code: 'conversation_not_found' });
    assert.deepEqual(await c.storage.read.conversations.removed(), []);
    await c.service.create(c.principal, { conversation_id: 'gone' });
    await c.until('gone', (view) => view.agent_state === 'awaiting_user_input');
    assert.equal((await c.events('gone'))[0]?.id, 0);
  });

  it('logs how runs go, by number and code and without a word of them', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'debug', base: null }, { write: (line) => void lines.push(line) });
    const other = await startConversations({ log });
    other.agent = counting;
    await other.service.create(other.principal, { conversation_id: 'well', initial_user_msg: 'a word' });
    await other.settled('well');
    other.settings = { ...other.settings, model: null };
    await other.service.create(other.principal, { conversation_id: 'ill', initial_user_msg: 'a word' });
    await other.settled('ill');
    await other.close();
    const seen = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const { info, debug } = pino.levels.values;
    assert.deepEqual(
      seen.map(({ level, conversation, code, msg }) => ({ level, conversation, code, msg })),
      [
        { level: debug, conversation: 1, code: undefined, msg: 'run begins' },
        { level: debug, conversation: 1, code: undefined, msg: 'run ended' },
        { level: debug, conversation: 2, code: undefined, msg: 'run begins' },
        { level: info, conversation: 2, code: 'model_not_configured', msg: 'run ended in an error' },
      ],
    );
    assert.ok(!lines.join('').includes('a word'));
  });
});

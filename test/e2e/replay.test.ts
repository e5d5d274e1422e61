import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { titleOf } from '../../src/agent/opening.ts';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { call, calls, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, type View } from '../support/parley.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url);
const example = (name: string): string => readFileSync(new URL(name, EXAMPLES), 'utf8');

/** What each file of `examples/` is played as. */
const PLAYED: Record<string, (events: readonly Event[]) => void> = {
  'basic.json': (events) => {
    assert.deepEqual(outputs(events), [[0, 'Good morning, Ann.']]);
  },
  'talk.json': (events) => {
    assert.deepEqual(texts(events), [
      'What is 1 + 1?',
      '2',
      "And what is the shell's answer?",
      'It says 2 as well.',
      'Thanks, that is all.',
    ]);
    assert.deepEqual(outputs(events), [[0, '2']]);
  },
  'wrong-initial-state.json': (events) => {
    const [[code, text] = []] = outputs(events);
    assert.notEqual(code, 0);
    assert.match(text ?? '', /No such file/);
  },
};

const texts = (events: readonly Event[]): string[] =>
  events.flatMap((event) => (isAction(event, 'message') ? [event.args.content] : []));
const outputs = (events: readonly Event[]): [number, string][] =>
  events.flatMap((event) =>
    isObservation(event, 'run')
      ? [[event.extras.metadata.exit_code, event.content.trim()] as [number, string]]
      : [],
  );
/** Without what each run has of its own. */
const deeds = (events: readonly Event[]): unknown[] =>
  events.flatMap((event) =>
    'action' in event && !['system', 'recall', 'change_agent_state'].includes(event.action)
      ? [[event.source, event.action, event.args]]
      : [],
  );

describe('a replay, with no model configured', () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley();
    await parley.ok('POST', '/api/settings', { language: 'en' });
  });
  after(() => parley.close());

  async function replay(id: string, replay_json: string): Promise<{ view: View; events: Event[] }> {
    await parley.ok('POST', '/api/conversations', { conversation_id: id, replay_json });
    return await ended(id);
  }
  async function ended(id: string): Promise<{ view: View; events: Event[] }> {
    const view = await parley.until(
      id,
      ({ agent_state, error }) => ['finished', 'awaiting_user_input'].includes(agent_state) || error !== null,
    );
    return { view, events: await parley.events(id) };
  }

  for (const name of readdirSync(EXAMPLES).filter((file) => file.endsWith('.json'))) {
    it(`plays examples/${name} to its end`, async () => {
      const { view, events } = await replay(name.replace('.json', ''), example(name));
      assert.deepEqual([view.agent_state, view.error], ['finished', null]);
      assert.ok(PLAYED[name], 'each example has an expectation');
      PLAYED[name](events);
      const first = events.find((event) => isAction(event, 'message'));
      assert.equal(first?.id, 1, 'the conversation begins with the first message');
      assert.equal(view.title, titleOf(texts(events)[0] ?? ''));
    });
  }

  it('ends the same as the run that a model decided', async () => {
    const script = [
      call(
        'execute_bash',
        { command: 'mkdir -p app && cd app && echo one > a.txt && pwd' },
        { text: 'First.' },
      ),
      calls([
        {
          name: 'str_replace_editor',
          input: { command: 'str_replace', path: '/workspace/app/a.txt', old_str: 'one', new_str: 'two' },
        },
        {
          name: 'task_tracker',
          input: { command: 'plan', task_list: [{ id: '1', title: 'edit', status: 'done' }] },
        },
      ]),
      call('execute_bash', '{"command": "no json'),
      call('execute_bash', { command: 'cat a.txt; cat -', stdin: 'given', timeout: 20 }),
      call('finish', { message: 'Done so far.' }),
      call('execute_bash', { command: 'wc -l < a.txt' }),
      say('One line.'),
    ];
    await using model = await startModelServer(byTurn(script, say('A title')));
    const settings = {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
    };
    await using recorder = await startParley();
    await recorder.ok('POST', '/api/settings', settings);
    await recorder.ok('POST', '/api/conversations', {
      conversation_id: 'recorded',
      initial_user_msg: 'Do it.',
    });
    await recorder.until('recorded', ({ agent_state }) => agent_state === 'finished');
    await recorder.ok('POST', '/api/conversations/recorded/message', { message: 'How many lines?' });
    await recorder.until('recorded', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const exported = await recorder.request('GET', '/api/conversations/recorded/trajectory');
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'replayed',
      replay_json: JSON.stringify(exported.body),
    });
    // In the middle it is finished once, as it was then.
    await parley.until('replayed', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const events = await parley.events('replayed');
    const recorded = await recorder.events('recorded');
    // Within one answer of the model the recording has all actions before their results.
    assert.deepEqual(deeds(events), deeds(recorded));
    assert.deepEqual(outputs(events), outputs(recorded));
  });

  it('goes on behind what was done when the service was killed, and repeats nothing', async () => {
    const events = [
      { source: 'user', action: 'message', args: { content: 'count' } },
      // In the middle of the second one it is killed.
      ...[1, 2, 3].map((n) => ({
        source: 'agent',
        action: 'run',
        args: { command: `echo ${n} >> /workspace/count${n === 2 ? '; sleep 100' : ''}` },
      })),
      { source: 'agent', action: 'run', args: { command: 'cat /workspace/count' } },
      { source: 'agent', action: 'finish', args: { final_thought: 'counted' } },
    ];
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'killed',
      replay_json: JSON.stringify(events),
    });
    await parley.untilEvents('killed', (now) => now.filter((event) => isAction(event, 'run')).length === 2);
    await parley.crash();
    await parley.start();
    const { view, events: all } = await ended('killed');
    assert.equal(view.agent_state, 'finished');
    assert.equal(all.filter((event) => isAction(event, 'run')).length, 4);
    assert.match(all.findLast((event) => isObservation(event, 'run'))?.content ?? '', /^1\n(2\n)?3\n$/);
  });

  it('stops and goes on, and hears what is said meanwhile when it is over', async () => {
    const events = [
      { source: 'user', action: 'message', args: { content: 'wait' } },
      { source: 'agent', action: 'run', args: { command: 'sleep 100' } },
      { source: 'agent', action: 'run', args: { command: 'echo after' } },
      { source: 'agent', action: 'finish', args: { final_thought: 'waited' } },
    ];
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'stopped',
      replay_json: JSON.stringify(events),
    });
    await parley.untilEvents('stopped', (now) => now.some((event) => isAction(event, 'run')));
    await parley.ok('POST', '/api/conversations/stopped/stop');
    assert.equal((await parley.until('stopped', () => true)).status, 'STOPPED');
    await parley.ok('POST', '/api/conversations/stopped/message', { message: 'Are you there?' });
    // Somebody has to answer: the replay, which finishes first, cannot.
    const view = await parley.until('stopped', ({ error }) => error !== null);
    assert.equal(view.error?.code, 'model_not_configured');
    const all = await parley.events('stopped');
    assert.deepEqual(outputs(all).at(-1), [0, 'after']);
    assert.ok(all.some((event) => isAction(event, 'finish')));
  });

  it('refuses at once what cannot be replayed, and names the member', async () => {
    for (const replay_json of [
      '{',
      '{}',
      JSON.stringify([{ source: 'agent', action: 'run', args: { command: 'ls' } }]),
    ]) {
      const { status, body } = await parley.request('POST', '/api/conversations', { replay_json });
      assert.equal(status, 422);
      assert.deepEqual((body as { errors: { loc: string[] }[] }).errors[0]?.loc, ['body', 'replay_json']);
    }
  });
});

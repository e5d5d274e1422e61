import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../../src/events/event.ts';
import { startForge } from '../../support/git/forge.ts';
import type { GitServer } from '../../support/git/git-server.ts';
import { call, calls, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeGitToken } from '../../support/stored.ts';

const done = call('finish', { message: 'done' });

const states = (events: Event[]): string[] =>
  events.flatMap((event) => (isObservation(event, 'agent_state_changed') ? [event.extras.agent_state] : []));

describe('agent', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    forge = await startForge({ 'acme/app': { files: { 'a.txt': 'needle\n', 'src/b.ts': 'x\n' } } });
    model = await startModelServer();
    parley = await startParley();
    await storeGitToken(parley, forge);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  const run = async (id: string, settings: object) => {
    await parley.ok('POST', '/api/settings', settings);
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      repository: 'acme/app',
      initial_user_msg: 'Go.',
    });
    await parley.until(id, ({ agent_state }) => agent_state === 'finished');
    return await parley.events(id);
  };
  const scripted = () => ({
    llm_model: 'openai/scripted',
    llm_api_key: 'sk-a-model-key',
    llm_base_url: model.baseUrl,
  });
  const offered = (): unknown[] =>
    (model.requests.at(-1)?.body.tools ?? []).map((tool) => (tool['function'] as { name: string }).name);

  it('CodeActAgent, when none is named, works with shell, editor, thoughts and a task list', async () => {
    model.play(byTurn([done], say('T')));
    await run('code-act', scripted());
    for (const name of ['execute_bash', 'str_replace_editor', 'think', 'task_tracker', 'finish']) {
      assert.ok(offered().includes(name), name);
    }
  });

  it('ReadOnlyAgent reads and searches, and can change nothing of the workspace, however it tries', async () => {
    const writes = `'; touch /workspace/app/pwned; echo '`;
    model.play(
      byTurn(
        [
          calls([
            { name: 'grep', input: { pattern: 'needle' } },
            { name: 'glob', input: { pattern: '**/*.ts' } },
            { name: 'view', input: { path: '/workspace/app/a.txt' } },
            { name: 'grep', input: { pattern: ' /workspace ', path: '/proc/self/mounts' } },
          ]),
          calls([
            { name: 'execute_bash', input: { command: 'touch /workspace/app/pwned' } },
            {
              name: 'str_replace_editor',
              input: { command: 'create', path: '/workspace/app/pwned', file_text: 'x' },
            },
            { name: 'grep', input: { pattern: writes, path: writes, include: writes } },
            { name: 'glob', input: { pattern: '$(touch /workspace/app/pwned)', path: '.' } },
            { name: 'glob', input: { pattern: '*', path: writes } },
          ]),
          done,
        ],
        say('T'),
      ),
    );
    const events = await run('read-only', { ...scripted(), agent: 'ReadOnlyAgent' });
    const seen = events.flatMap((event) =>
      isObservation(event, 'run') || isObservation(event, 'read') ? [event.content.trim()] : [],
    );
    assert.equal(seen[0], './a.txt:1:needle');
    assert.equal(seen[1], 'src/b.ts');
    assert.match(seen[2] ?? '', /needle$/);
    assert.match(seen[3] ?? '', /^\/proc\/self\/mounts:\d+:\S+ \/workspace \S+ ro,/, 'mounted read-only');
    assert.ok(!offered().includes('execute_bash') && !offered().includes('str_replace_editor'));
    const refused = events.flatMap((event) => (isObservation(event, 'error') ? [event.content] : []));
    assert.deepEqual(
      refused.map((text) => /^There is no tool "(\w+)"/.exec(text)?.[1]),
      ['execute_bash', 'str_replace_editor'],
    );
    const files = await parley.ok('GET', '/api/conversations/read-only/list-files?path=app/');
    assert.deepEqual((files as string[]).toSorted(), ['app/.git/', 'app/a.txt', 'app/src/']);
    // The agent may be another in the next run: then the workspace is as it was, and can be written to.
    model.play(
      byTurn([done, done, done, call('execute_bash', { command: 'touch written && ls' }), done], say('T')),
    );
    await parley.ok('POST', '/api/settings', { agent: 'CodeActAgent' });
    await parley.ok('POST', '/api/conversations/read-only/message', { message: 'Write.' });
    const ended = await parley.untilEvents(
      'read-only',
      (all) => states(all).filter((x) => x === 'finished').length === 2,
    );
    assert.ok(ended.some((event) => isObservation(event, 'run') && event.content.includes('written')));
  });

  it('DummyAgent checks sandbox, git and log, and asks no model', async () => {
    const before = model.requests.length + model.titles.length;
    const events = await run('dummy', { agent: 'DummyAgent' });
    const report = events.find((event) => isAction(event, 'finish'));
    assert.ok(report && isAction(report, 'finish'));
    assert.match(report.args.final_thought, /^The self-check passed\.\nok {2}sandbox: /);
    assert.equal(model.requests.length + model.titles.length, before);
  });
});

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { eventually } from '../support/eventually.ts';
import { startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeGitToken } from '../support/stored.ts';

const SETUP = [
  'echo "setting up with $GREETING"',
  'date +%s%N >>/home/agent/setups',
  'export MADE_BY_SETUP=yes',
  'echo ok > ready.txt',
].join('\n');
const PRE_COMMIT = 'echo "hook ran" >&2; ! grep -rq FORBIDDEN --include=*.txt .\n';

const REPOSITORIES = {
  'acme/app': { files: { '.openhands/setup.sh': SETUP, '.openhands/pre-commit.sh': PRE_COMMIT } },
  'acme/broken': { files: { '.openhands/setup.sh': 'echo oh no\nexit 3\n' } },
  'acme/slow': { files: { '.openhands/setup.sh': 'echo x >>/home/agent/setups; sleep 300\n' } },
  'acme/plain': { files: { 'a.txt': 'a\n' } },
};

describe('the scripts of a repository', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    forge = await startForge(REPOSITORIES);
    model = await startModelServer(byTurn([say('Nothing to do.')], say('A title')));
    parley = await startParley();
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-scripts',
      llm_base_url: model.baseUrl,
      secrets_store: { custom_secrets: { GREETING: { secret: 'hello-from-a-secret' } } },
    });
    await storeGitToken(parley, forge);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  const create = async (id: string, repository: string, message?: string): Promise<void> => {
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      repository,
      git_provider: 'github',
      ...(message && { initial_user_msg: message }),
    });
  };
  const hidden = (events: readonly Event[]) =>
    events.flatMap((event) => (isAction(event, 'run') && event.source === 'environment' ? [event] : []));
  const answerTo = (events: readonly Event[], id: number) =>
    events.find((event) => 'observation' in event && event.cause === id);

  it('run after the clone, hidden, by the environment, with the phases of V0', async () => {
    model.play(
      byTurn(
        [
          call('execute_bash', {
            command: 'echo "$MADE_BY_SETUP" $(cat ready.txt) $(wc -l </home/agent/setups)',
          }),
          call('execute_bash', {
            command: 'git add -A && git commit -qm one 2>&1 && git status --short | wc -l',
          }),
          call('execute_bash', { command: 'echo FORBIDDEN >b.txt; git add -A; git commit -qm two 2>&1' }),
          say('Done.'),
        ],
        say('A title'),
      ),
    );
    await create('app', 'acme/app', 'Look.');
    await parley.until('app', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const events = await parley.events('app');
    const scripts = hidden(events);
    assert.deepEqual(
      scripts.map(({ args }) => [args.hidden, args.blocking, args.command.split('\n')[0]]),
      [
        [true, true, 'source .openhands/setup.sh'],
        [true, true, '('],
      ],
    );
    const { trajectory } = (await parley.ok('GET', '/api/conversations/app/trajectory')) as {
      trajectory: Event[];
    };
    const left = new Set(trajectory.map(({ id }) => id));
    assert.deepEqual(
      events.filter(({ id }) => !left.has(id)).map(({ id }) => id),
      scripts.flatMap(({ id }) => [id, answerTo(events, id)?.id ?? -1]).toSorted((a, b) => a - b),
      'a trajectory leaves out what is hidden',
    );

    const setUp = answerTo(events, scripts[0]?.id ?? -1);
    assert.ok(setUp && isObservation(setUp, 'run'));
    assert.equal(setUp.source, 'environment');
    assert.equal(setUp.extras.hidden, true);
    assert.equal(setUp.extras.metadata.exit_code, 0);
    assert.match(setUp.content, /^setting up with <secret_hidden>/);

    const [first, commit, refused] = events.filter(
      (event) => isObservation(event, 'run') && event.source === 'agent',
    );
    assert.ok(first && isObservation(first, 'run') && commit && isObservation(commit, 'run'));
    assert.equal(first.content.trim(), 'yes ok 1', 'what it exported stays, and it ran once');
    assert.match(commit.content, /hook ran[^]*\n0\n?$/);
    assert.ok(refused && isObservation(refused, 'run'));
    assert.equal(refused.extras.metadata.exit_code, 1, 'the hook refuses the commit');
  });

  it('do not fail the conversation when they fail, but that is seen', async () => {
    await create('broken', 'acme/broken');
    await parley.until('broken', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const view = await parley.until('broken', () => true);
    assert.deepEqual([view.status, view.error], ['RUNNING', null]);
    const events = await parley.events('broken');
    const told = events.find((event) => isObservation(event, 'error'));
    assert.match(
      told && 'content' in told ? told.content : '',
      /^\.openhands\/setup\.sh failed; .*exit code 3\.\noh no$/,
    );
  });

  it('are not there for a repository that has none', async () => {
    await create('plain', 'acme/plain');
    await parley.until('plain', ({ agent_state }) => agent_state === 'awaiting_user_input');
    assert.deepEqual(hidden(await parley.events('plain')), []);
  });

  it('are not run again after a crash, which leaves their outcome unknown', async () => {
    model.play(
      byTurn([call('execute_bash', { command: 'wc -l </home/agent/setups' }), say('Done.')], say('A title')),
    );
    await create('slow', 'acme/slow', 'Look.');
    await parley.until('slow', ({ runtime_status }) => runtime_status === 'STATUS$SETTING_UP_WORKSPACE');
    const [script] = hidden(await parley.untilEvents('slow', (events) => hidden(events).length === 1));
    await begun(parley.dataDir);
    await parley.crash();
    await parley.start();
    await parley.until('slow', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const events = await parley.events('slow');
    assert.equal(hidden(events).length, 1);
    const answer = answerTo(events, script?.id ?? -1);
    assert.ok(answer && isObservation(answer, 'error'));
    assert.match(answer.content, /outcome is not known.*not run again/);
    const counted = events.find((event) => isObservation(event, 'run') && event.source === 'agent');
    assert.equal(counted && 'content' in counted && counted.content.trim(), '1');
  });
});

/** Resolves when a script has written its line into a home. */
async function begun(dataDir: string): Promise<void> {
  const workspaces = join(dataDir, 'workspaces');
  await eventually('the line of the script', async () => {
    const homes = (await readdir(workspaces)).map((key) => join(workspaces, key, 'home', 'setups'));
    const texts = await Promise.all(homes.map((file) => readFile(file, 'utf8').catch(() => '')));
    return texts.includes('x\n');
  });
}

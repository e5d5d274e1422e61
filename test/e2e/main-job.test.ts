import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { GIT_TOKEN, startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { leaksBelow, leaksIn } from '../support/leaks.ts';
import { call, calls, say, shaped, torn } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';

const MODEL_KEY = 'sk-model-key-Zq8Wn5Tb1';
const CUSTOM_SECRET = 'deploy-Pw6Hc0Jd2-value';
const SECRETS = { token: GIT_TOKEN, 'model key': MODEL_KEY, 'custom secret': CUSTOM_SECRET };

const FILES = {
  'add.sh': 'echo $(( $1 - $2 ))\n',
  'test.sh': 'set -e\n[ "$(bash add.sh 2 3)" = 5 ] && echo all tests pass\n',
};

/** Everything a curious agent would look into for a token, with what it finds printed. */
const SEARCH = [
  'env',
  "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'",
  'git config --list --show-origin',
  'cat .git/config /etc/gitconfig',
  'find / -xdev -type f -size -200k \\( -path /proc -o -path /sys -o -path /usr \\) -prune -o -type f -size -200k -print0 2>/dev/null | xargs -0 cat 2>/dev/null | tail -c 20000',
  'GIT_TRACE_CURL=1 GIT_TRACE=1 git fetch 2>&1',
].join('; ');

const SCRIPT = [
  torn(3, call('execute_bash', { command: 'bash test.sh' }, { text: 'First the tests.' })),
  shaped(
    'vllm',
    calls([
      { name: 'str_replace_editor', input: { command: 'view', path: '/workspace/app/add.sh' } },
      {
        name: 'str_replace_editor',
        input: { command: 'str_replace', path: '/workspace/app/add.sh', old_str: '-', new_str: '+' },
      },
    ]),
  ),
  shaped(
    'mistral',
    call('execute_bash', { command: 'bash test.sh; printenv DEPLOY_KEY; printenv DEPLOY_KEY | base64' }),
  ),
  shaped('gemini', call('execute_bash', { command: SEARCH })),
  // Arguments that are no JSON: the model is told, and tries again.
  shaped('llama-cpp', call('execute_bash', '{"command": "git commit')),
  call('execute_bash', {
    command: 'git commit -qam "Add instead of subtracting" && git push -q origin HEAD 2>&1',
  }),
  call('finish', { message: 'The sum is a sum now.' }),
];

describe('the main job: clone with a token, edit, test, commit, push', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  let events: Event[];

  before(async () => {
    forge = await startForge({ 'acme/app': { files: FILES } });
    model = await startModelServer(byTurn(SCRIPT, say('A title')));
    parley = await startParley();
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: MODEL_KEY,
      llm_base_url: model.baseUrl,
      git_user_name: 'Ann Example',
      git_user_email: 'ann@example.org',
      secrets_store: {
        custom_secrets: { DEPLOY_KEY: { secret: CUSTOM_SECRET, description: 'for the deployment' } },
      },
    });
    const stored = await parley.ok('POST', '/api/add-git-providers', {
      provider_tokens: { github: { token: GIT_TOKEN, host: forge.base } },
    });
    assert.deepEqual(stored, {
      message: 'Git providers stored',
      providers: { github: { status: 'verified', login: 'ann' } },
    });
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'main-job',
      repository: 'acme/app',
      git_provider: 'github',
      initial_user_msg: 'Make the tests pass, then push.',
    });
    await parley.until(
      'main-job',
      ({ agent_state }) => agent_state === 'finished' || agent_state === 'error',
    );
    events = await parley.events('main-job');
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  it('ends finished, on a branch of its own', async () => {
    const view = await parley.until('main-job', () => true);
    assert.deepEqual([view.status, view.agent_state, view.error], ['RUNNING', 'finished', null]);
    assert.equal(view.selected_branch, 'parley-main-job');
  });

  it('has its commit on the server, by the identity of the settings', async () => {
    const commit = await forge.commitOf('acme/app', 'parley-main-job');
    assert.equal(commit?.author, 'Ann Example <ann@example.org>');
    assert.equal(commit?.message, 'Add instead of subtracting');
    assert.equal(await forge.fileAt('acme/app', 'parley-main-job', 'add.sh'), 'echo $(( $1 + $2 ))\n');
  });

  it('ran the tests before and after the edit', () => {
    const codes = events.flatMap((event) =>
      isObservation(event, 'run') && event.extras.command.startsWith('bash test.sh')
        ? [event.extras.metadata.exit_code]
        : [],
    );
    assert.deepEqual(codes, [1, 0]);
    const edit = events.find((event) => isObservation(event, 'edit'));
    assert.match(edit?.extras.diff ?? '', /^\+echo \$\(\( \$1 \+ \$2 \)\)$/m);
  });

  it('answers every action once, in the order of V0, ids without a gap', () => {
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, index) => index),
    );
    const asked = events.filter(
      (event) => isAction(event, 'run') || isAction(event, 'edit') || isAction(event, 'read'),
    );
    assert.equal(asked.length, 6);
    for (const { id } of asked) {
      const answers = events.filter((event) => 'observation' in event && event.cause === id);
      assert.equal(answers.length, 1, `action ${id}`);
    }
  });

  it('gives the shell the custom secret, and shows it nowhere', () => {
    const shown = events.find(
      (event) => isObservation(event, 'run') && event.extras.command.includes('printenv'),
    );
    assert.equal(shown && 'content' in shown && shown.content.match(/<secret_hidden>/g)?.length, 2);
  });

  it('has the token nowhere in the sandbox: not even hidden', () => {
    const searched = events.find(
      (event) => isObservation(event, 'run') && event.extras.command.includes('GIT_TRACE_CURL'),
    );
    assert.ok(searched && 'content' in searched);
    assert.match(searched.content, /GIT_AUTHOR_NAME|user\.name=Ann Example/, 'the search looked');
    const hidden = searched.content.split('\n').filter((line) => line.includes('<secret_hidden>'));
    assert.deepEqual(
      hidden.filter((line) => !line.startsWith('DEPLOY_KEY=')),
      [],
    );
  });

  it('has no secret in an event, a log line, an error, a model request or on disk', async () => {
    assert.deepEqual(leaksIn(JSON.stringify(events), SECRETS), []);
    assert.deepEqual(leaksIn(parley.output(), SECRETS), []);
    const requests = model.requests.map(({ body, headers }) =>
      JSON.stringify([body, { ...headers, authorization: '' }]),
    );
    assert.deepEqual(leaksIn(requests.join('\n'), SECRETS), []);
    const refused = await parley.request('POST', '/api/settings', {
      max_iterations: GIT_TOKEN,
      llm_api_key: 7,
    });
    assert.equal(refused.status, 422);
    assert.deepEqual(leaksIn(JSON.stringify(refused.body), SECRETS), []);
    const settings = await parley.request('GET', '/api/settings');
    assert.deepEqual(leaksIn(JSON.stringify(settings.body), SECRETS), []);
    assert.deepEqual(await leaksBelow(parley.dataDir, SECRETS), []);
  });

  it('sent the model key to the model, and the token to the git server alone', () => {
    assert.ok(model.requests.every(({ headers }) => headers.authorization === `Bearer ${MODEL_KEY}`));
    assert.ok(forge.requests.some(({ headers }) => headers.authorization?.startsWith('Basic ')));
  });

  it('counts what it cost', async () => {
    const last = events.findLast((event) => 'action' in event && event.llm_metrics !== undefined);
    assert.ok(last && 'action' in last);
    assert.ok((last.llm_metrics?.accumulated_token_usage.prompt_tokens ?? 0) > 0);
  });

  it('goes on when the user says more, from where it stands', async () => {
    model.play([call('execute_bash', { command: 'pwd; git log --oneline | wc -l' }), say('Two commits.')]);
    await parley.ok('POST', '/api/conversations/main-job/message', { message: 'How many commits?' });
    await parley.until('main-job', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const now = await parley.events('main-job');
    const answer = now.findLast((event) => isObservation(event, 'run'));
    assert.equal(answer?.content.trim(), '/workspace/app\n2');
  });
});

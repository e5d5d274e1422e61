/**
 * Two users have everything set differently and work at the same time, under the same conversation ids. All that is a
 * user's has their mark in it; then everything the other one could see is searched for it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isObservation } from '../../../src/events/event.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';
import { leaksIn } from '../../support/leaks.ts';
import { plainTool, type ScriptedMcp, startScriptedMcp } from '../../support/mcp-servers.ts';
import { call, calls, gate, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley, TEST_KEY } from '../../support/parley.ts';
import { type RecordingServer, startRecordingServer } from '../../support/recording-server.ts';

/** All there is to see for a command: variables, processes, files, git. */
const LOOK = [
  'env; declare -p; id',
  "cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' '\\n'",
  'ls -laR /workspace /home /tmp /run /dev/shm 2>/dev/null | grep -v /.git/',
  'git config --list --show-origin; git log --all --format="%an %ae %cn %ce %s"; git remote -v',
  'cat /workspace/*.txt /home/*/*.txt /tmp/*.txt /dev/shm/*.txt 2>/dev/null',
].join('; ');

/** As the model is told them. */
const LANGUAGES = { de: 'German (de)', fr: 'French (fr)' };

class User {
  readonly mark: string;
  readonly language: keyof typeof LANGUAGES;
  key = TEST_KEY;
  readonly model: ModelServer;
  readonly forge: GitServer;
  readonly mcp: ScriptedMcp;
  readonly token: string;

  private constructor(
    mark: string,
    language: keyof typeof LANGUAGES,
    servers: Pick<User, 'model' | 'forge' | 'mcp' | 'token'>,
  ) {
    this.mark = mark;
    this.language = language;
    ({ model: this.model, forge: this.forge, mcp: this.mcp, token: this.token } = servers);
  }

  static async make(mark: string, language: keyof typeof LANGUAGES): Promise<User> {
    const token = `ghp_${mark}0Token`;
    const leaveMarks = [
      `for d in /workspace ~ /tmp /dev/shm; do echo ${mark} > $d/${mark}.txt; done`,
      `(exec -a ${mark}-process sleep 600) >/dev/null 2>&1 & export VARIABLE=${mark}`,
      `cd /workspace/app && git commit -q --allow-empty -m 'Say ${mark}' && git push -q origin HEAD`,
    ].join('\n');
    const model = await startModelServer(
      byTurn(
        [
          call('execute_bash', { command: leaveMarks }, { text: `I am of ${mark}.` }),
          gate(
            'both are at work',
            calls([
              { name: 'execute_bash', input: { command: LOOK } },
              { name: 'web_search', input: { query: `what is ${mark}` } },
              { name: 'consult', input: { about: mark } },
              { name: `tool_${mark}`, input: {} },
              { name: 'execute_bash', input: { command: `cat /none/${mark}; exit 3` } },
            ]),
          ),
          call('finish', { message: `Done for ${mark}.` }),
        ],
        say(`Title of ${mark}`),
      ),
    );
    const forge = await startGitServer({
      repositories: {
        [`${mark}/app`]: {
          files: {
            'AGENTS.md': `Rules of ${mark}.\n`,
            [`.openhands/microagents/${mark}.md`]: `---\ntriggers: [go]\n---\nKnowledge of ${mark}.\n`,
            '.openhands/setup.sh': `echo ${mark} is set up\n`,
          },
        },
      },
      accounts: [{ token }],
    });
    const mcp = await startScriptedMcp([plainTool('consult')]);
    return new User(mark, language, { model, forge, mcp, token });
  }

  get settings(): object {
    const { mark, language, model, mcp, forge, token } = this;
    return {
      language,
      llm_model: `openai/model-${mark}`,
      llm_api_key: `sk-${mark}-model`,
      llm_base_url: model.baseUrl,
      search_api_key: `tvly-${mark}-search`,
      remote_runtime_resource_factor: language === 'de' ? 1 : 2,
      max_iterations: language === 'de' ? 20 : 30,
      git_user_name: `Name ${mark}`,
      git_user_email: `${mark}@example.org`,
      email: `mail-${mark}@example.org`,
      secrets_store: {
        provider_tokens: { github: { token, host: forge.base } },
        custom_secrets: { [`SECRET_${mark}`]: { secret: `value-${mark}-secret`, description: `of ${mark}` } },
      },
      mcp_config: { shttp_servers: [{ url: `${mcp.url}/${mark}`, api_key: `mcp-${mark}-key`, timeout: 60 }] },
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.model.close(), this.forge.close(), this.mcp.close()]);
  }
}

describe('two users at the same time', () => {
  let users: User[];
  let search: RecordingServer;
  let parley: Parley;
  /** What each could see, by their mark. */
  const seen = new Map<string, { events: Event[]; replies: string }>();

  before(async () => {
    users = await Promise.all([User.make('Anna4Zq', 'de'), User.make('Bert9Kx', 'fr')]);
    search = await startRecordingServer({
      body: { results: [{ url: 'https://x.example', content: 'found' }] },
    });
    const hosts = users.flatMap(({ model, forge, mcp }) => [model.port, forge.port, new URL(mcp.url).port]);
    parley = await startParley({
      PARLEY_ALLOW_PRIVATE_HOSTS: hosts.map((port) => `127.0.0.1:${port}`).join(','),
      PARLEY_SEARCH_URL: search.url,
      PARLEY_LOG_LEVEL: 'trace',
    });
    const printed = await parley.command('keys', 'create', '--user', 'second');
    const [, second] = users;
    if (second) second.key = printed.trimEnd().split('\n').at(-1) ?? '';
    await Promise.all(users.map((user) => begin(user)));
    await Promise.all(users.map(({ model }) => model.until((requests) => requests.length >= 2)));
    for (const { model } of users) model.open('both are at work');
    await Promise.all(users.map((user) => look(user)));
  });
  after(async () => {
    await parley.close();
    await search.close();
    await Promise.all(users.map((user) => user.close()));
  });

  async function begin({ mark, key, settings }: User): Promise<void> {
    await parley.ok('POST', '/api/settings', settings, key);
    for (const [id, repository] of [
      ['job', `${mark}/app`],
      ['failing', `${mark}/none`],
    ]) {
      const body = {
        conversation_id: id,
        repository,
        git_provider: 'github',
        initial_user_msg: `Go for ${mark}.`,
        conversation_instructions: `Instructions of ${mark}.`,
      };
      await parley.ok('POST', '/api/conversations', body, key);
    }
  }

  async function look({ mark, key }: User): Promise<void> {
    await parley.until('job', ({ agent_state }) => agent_state === 'finished', PATIENCE_MS, key);
    await parley.until('failing', ({ status }) => status === 'ERROR', PATIENCE_MS, key);
    const asked: [method: string, path: string, body?: object][] = [
      ['GET', '/api/settings'],
      ['GET', '/api/secrets'],
      ['GET', '/api/conversations'],
      ['GET', '/api/conversations/job'],
      ['GET', '/api/conversations/failing'],
      ['GET', '/api/conversations/job/events?limit=100'],
      ['GET', '/api/conversations/job/trajectory'],
      ['GET', '/api/conversations/job/list-files'],
      ['GET', '/api/conversations/job/microagents'],
      ['GET', '/api/conversations/job/git/changes'],
      ['GET', '/api/conversations/job/mcp'],
      ['GET', '/server_info'],
      ['GET', '/ready'],
      ['POST', '/api/settings', { max_iterations: 'many' }],
      ['GET', '/api/conversations/nobodys'],
    ];
    const replies = await Promise.all(
      asked.map(([method, path, body]) => parley.request(method, path, body, key)),
    );
    seen.set(mark, {
      events: [...(await parley.events('job', key)), ...(await parley.events('failing', key))],
      replies: JSON.stringify(replies.map(({ body }) => body)),
    });
  }

  const pairs = (): { one: User; other: User }[] =>
    users.flatMap((one) => users.filter((other) => other !== one).map((other) => ({ one, other })));
  const marks = ({ mark, token, language }: User) => ({ mark, token, language: LANGUAGES[language] });

  it('have both been at work, each with what is theirs', () => {
    for (const { mark, language, model } of users) {
      const events = seen.get(mark)?.events ?? [];
      const looked = events.find((event) => isObservation(event, 'run') && event.extras.command === LOOK);
      assert.ok(looked && 'content' in looked);
      for (const own of [
        `SECRET_${mark}=<secret_hidden>`,
        `VARIABLE=${mark}`,
        `${mark}-process`,
        `user.name=Name ${mark}`,
        `Name ${mark} ${mark}@example.org`,
      ]) {
        assert.ok(looked.content.includes(own), `${mark}: ${own}`);
      }
      const asked = JSON.stringify(model.requests);
      assert.ok(asked.includes(`Write to the user in ${LANGUAGES[language]}`), mark);
      for (const own of ['Rules of', 'Knowledge of', 'Instructions of', 'Go for']) {
        assert.ok(asked.includes(`${own} ${mark}.`), `${mark}: ${own}`);
      }
    }
  });

  it('have nothing of each other in what their models are asked', () => {
    for (const { one, other } of pairs()) {
      const requests = [...one.model.requests, ...one.model.titles].map(({ body, headers }) => [
        body,
        headers,
      ]);
      assert.deepEqual(leaksIn(JSON.stringify(requests), marks(other)), [], one.mark);
    }
  });

  it('have nothing of each other in their events, sandboxes, answers and errors', () => {
    for (const { one, other } of pairs()) {
      const { events, replies } = seen.get(one.mark) ?? { events: [], replies: '' };
      assert.ok(events.some((event) => isObservation(event, 'error')));
      assert.deepEqual(leaksIn(JSON.stringify(events), marks(other)), [], one.mark);
      assert.deepEqual(leaksIn(replies, { mark: other.mark, token: other.token }), [], one.mark);
    }
  });

  it('reach their own servers alone, each with their own keys', () => {
    for (const { one, other } of pairs()) {
      const git = JSON.stringify(one.forge.requests);
      assert.deepEqual(leaksIn(git, { token: one.token }), ['token'], 'their own went there');
      assert.deepEqual(leaksIn(git, marks(other)), [], one.mark);
      assert.deepEqual(
        one.mcp.calls().map(({ params, headers }) => [params.arguments, headers.authorization]),
        [[{ about: one.mark }, `Bearer mcp-${one.mark}-key`]],
      );
      assert.deepEqual(leaksIn(JSON.stringify(one.mcp.requests), marks(other)), [], one.mark);
      const searches = search.requests.filter(({ body }) => body.includes(one.mark));
      assert.deepEqual(
        searches.map(({ headers }) => headers.authorization),
        [`Bearer tvly-${one.mark}-search`],
      );
    }
  });

  it('are in no metric, and their secrets in no line of the log', async () => {
    const metrics = String((await parley.request('GET', '/metrics')).body);
    assert.match(metrics, /parley_runs_total/);
    for (const { mark, token } of users) {
      assert.ok(!metrics.includes(mark), mark);
      const secrets = Object.fromEntries(
        [token, `sk-${mark}-model`, `tvly-${mark}-search`, `value-${mark}-secret`, `mcp-${mark}-key`].map(
          (secret) => [secret, secret],
        ),
      );
      assert.deepEqual(leaksIn(parley.output(), secrets), []);
    }
    assert.doesNotMatch(metrics, /="(second|default|job|failing)"/);
  });

  it('leave nothing behind in each other’s git', async () => {
    for (const { mark, forge } of users) {
      const commit = await forge.commitOf(`${mark}/app`, 'parley-job');
      assert.deepEqual(
        [commit?.author, commit?.message],
        [`Name ${mark} <${mark}@example.org>`, `Say ${mark}`],
      );
    }
  });
});

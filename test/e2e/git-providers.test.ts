/** What a user has at git providers, asked of the real service; the providers are on loopback. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import { isAction } from '../../src/events/event.ts';
import { selfSigned } from '../support/certificate.ts';
import { startAzureDevops } from '../support/git/providers/azure-devops.ts';
import { startBitbucket } from '../support/git/providers/bitbucket.ts';
import { startForgejo } from '../support/git/providers/forgejo.ts';
import { githubLimit, startGithub } from '../support/git/providers/github.ts';
import { startGitlab } from '../support/git/providers/gitlab.ts';
import type { ProviderServer } from '../support/git/providers/server.ts';
import { ISSUE, PULL_REQUEST, TOKENS } from '../support/git/providers/world.ts';
import { type Parley, type Reply, startParley } from '../support/parley.ts';

/** Each provider, and what a user gives as the path of its host. */
const PROVIDERS = {
  github: { start: startGithub, path: '' },
  gitlab: { start: startGitlab, path: '/forge' },
  bitbucket: { start: startBitbucket, path: '' },
  azure_devops: { start: startAzureDevops, path: '/contoso' },
  forgejo: { start: startForgejo, path: '/code' },
} as const;
type Name = keyof typeof PROVIDERS;
const NAMES = Object.keys(PROVIDERS) as Name[];

/** The whole name of a repository, and the address of its page below the host. */
const fullName = (provider: Name, name: string): string =>
  provider === 'azure_devops' ? `contoso/${name}` : name;
const pageOf = (provider: Name, name: string): string =>
  provider === 'azure_devops' ? name.replace('/', '/_git/') : name;
/** Bitbucket has no issues; a work item of Azure's belongs to a project. */
const ASSIGNED: Readonly<Record<Name, string | null>> = {
  github: 'acme/app',
  gitlab: 'acme/app',
  bitbucket: null,
  azure_devops: 'contoso/ann/notes',
  forgejo: 'acme/app',
};

interface Row {
  git_provider: Name;
}

describe('git providers, for the user', () => {
  let parley: Parley;
  const servers = {} as Record<Name, ProviderServer>;

  before(async () => {
    for (const name of NAMES) servers[name] = await PROVIDERS[name].start();
    parley = await startParley();
  });
  afterEach(() => {
    for (const server of Object.values(servers)) server.answerAll(null);
  });
  after(async () => {
    await parley.close();
    for (const server of Object.values(servers)) await server.close();
  });

  const hostOf = (name: Name): string => servers[name].url + PROVIDERS[name].path;
  const get = (path: string): Promise<Reply> => parley.request('GET', `/api/user/${path}`);
  const ok = (path: string): Promise<unknown> => parley.ok('GET', `/api/user/${path}`);
  const store = (provider_tokens: object) =>
    parley.ok('POST', '/api/settings', { secrets_store: { provider_tokens } });
  /** As they are stored here, nobody is asked whether they are good. */
  const storeAll = () =>
    store(Object.fromEntries(NAMES.map((name) => [name, { token: TOKENS.good, host: hostOf(name) }])));
  const requests = () => Object.values(servers).flatMap(({ asked }) => asked.map(({ path }) => path));
  const failuresIn = ({ headers }: Reply) =>
    JSON.parse(headers.get('x-provider-failures') ?? '[]') as Record<string, string>[];

  // These come first: nobody was asked anything yet, so whatever comes to a provider is theirs.
  it('without a token are asked nothing, and one is told to store one', async () => {
    await storeAll();
    await parley.ok('POST', '/api/unset-provider-tokens');
    for (const path of [
      'info',
      'installations?provider=github',
      'repositories',
      'search/repositories?query=x',
      'repository/branches?repository=acme/app',
      'search/branches?repository=acme/app&query=x',
      'repository/acme/app/microagents',
      'repository/acme/app/microagents/content?file_path=a.md',
      'suggested-tasks',
    ]) {
      const { status, body } = await get(path);
      const { code, detail } = body as { code: string; detail: string };
      assert.deepEqual([status, code], [401, 'git_token_required'], path);
      assert.match(detail, /POST \/api\/add-git-providers/);
    }
    assert.deepEqual(requests(), []);
  });

  it('suggest nothing, and are not asked, while the user does not want it', async () => {
    await storeAll();
    await parley.ok('PATCH', '/api/settings', { enable_proactive_conversation_starters: false });
    assert.deepEqual(await ok('suggested-tasks'), []);
    assert.deepEqual(requests(), []);
    await parley.ok('PATCH', '/api/settings', { enable_proactive_conversation_starters: true });
  });

  it('say who one is: the first of them', async () => {
    const me = (await ok('info')) as { login: string };
    assert.equal(me.login, 'ann');
    assert.deepEqual(Object.keys(me), ['id', 'login', 'avatar_url', 'company', 'name', 'email']);
  });

  it('list repositories, of all of them or of one, page by page as clients of V0 go on', async () => {
    const all = (await ok('repositories')) as (Row & { full_name: string })[];
    assert.deepEqual(new Set(all.map(({ git_provider }) => git_provider)), new Set(NAMES));
    for (const name of NAMES) {
      const found: string[] = [];
      for (let page: string | undefined = '1'; page !== undefined;) {
        const path = `repositories?selected_provider=${name}&page=${page}&per_page=2&sort=pushed`;
        const rows = (await ok(path)) as (Row & { full_name: string; link_header: string | null })[];
        found.push(...rows.map(({ full_name }) => full_name));
        page = /<[^>]*[?&]page=(\d+)(?:&[^>]*)?>; rel="next"/.exec(rows[0]?.link_header ?? '')?.[1];
      }
      const own = all.filter(({ git_provider }) => git_provider === name);
      assert.deepEqual(
        found,
        own.map(({ full_name }) => full_name),
        name,
      );
      assert.deepEqual(
        found,
        ['acme/app', 'acme/hidden', 'ann/notes'].map((one) => fullName(name, one)),
        name,
      );
    }
    const [owner] = (await ok('installations?provider=github')) as string[];
    const theirs = await ok(`repositories?selected_provider=github&installation_id=${owner}`);
    assert.ok((theirs as { full_name: string }[]).every(({ full_name }) => full_name.startsWith('acme/')));
  });

  it('keep lists of repositories until a token changes', async () => {
    const asked = () => servers.gitlab.asked.length;
    const list = () => ok('repositories?selected_provider=gitlab&per_page=1');
    const first = await list();
    const before = asked();
    assert.deepEqual(await list(), first);
    assert.equal(asked(), before);
    await store({ gitlab: { token: TOKENS.readOnly } });
    await list();
    assert.ok(asked() > before);
    await store({ gitlab: { token: TOKENS.good } });
  });

  it('find repositories by a part of the name, or by their address', async () => {
    const names = async (query: string) =>
      (
        (await ok(`search/repositories?query=${encodeURIComponent(query)}`)) as (Row & {
          full_name: string;
        })[]
      ).map(({ git_provider, full_name }) => `${git_provider} ${full_name}`);
    assert.deepEqual(
      await names('hidden'),
      NAMES.map((name) => `${name} ${fullName(name, 'acme/hidden')}`),
    );
    for (const name of NAMES) {
      assert.deepEqual(await names(`${hostOf(name)}/${pageOf(name, 'acme/app')}`), [
        `${name} ${fullName(name, 'acme/app')}`,
      ]);
    }
  });

  it('list branches as a list, or in pages when asked to, and find them', async () => {
    for (const name of NAMES) {
      const of = `repository=${fullName(name, 'acme/app')}&selected_provider=${name}`;
      const all = (await ok(`repository/branches?${of}`)) as { name: string; protected: boolean }[];
      const branches = ['feature/login', 'fix/crash', 'main'];
      assert.deepEqual(all.map((branch) => branch.name).toSorted(), branches, name);
      // Bitbucket's and Azure's lists do not say.
      const main = all.find((branch) => branch.name === 'main');
      assert.equal(main?.protected, !['bitbucket', 'azure_devops'].includes(name), name);
      const page = (await ok(`repository/branches?${of}&page=2&per_page=2`)) as Record<string, unknown>;
      assert.deepEqual(
        [page['has_next_page'], page['current_page'], page['per_page'], (page['branches'] as []).length],
        [false, 2, 2, 1],
      );
      const found = (await ok(`search/branches?${of}&query=login`)) as { name: string }[];
      assert.deepEqual(
        found.map((branch) => branch.name),
        ['feature/login'],
        name,
      );
    }
  });

  it('show what a repository tells agents, with the slash of its name as it stands or not', async () => {
    for (const name of ['acme/app', 'acme%2Fapp']) {
      const listed = (await ok(`repository/${name}/microagents`)) as { name: string; path: string }[];
      const path = '.openhands/microagents/doors.md';
      assert.deepEqual(
        listed.map((one) => [one.name, one.path]),
        [['doors', path]],
      );
      assert.deepEqual(await ok(`repository/${name}/microagents/content?file_path=${path}`), {
        content: 'Oil the hinges.',
        path,
        triggers: ['door'],
        git_provider: 'github',
      });
    }
    assert.equal((await get('repository/a/b/c/d/microagents')).status, 404);
    assert.equal((await get('repository/acme/app/nonsense')).status, 404);
  });

  it('suggest tasks, of all of them; each begins a conversation', async () => {
    const tasks = (await ok('suggested-tasks')) as (Row & { task_type: string })[];
    const expected = NAMES.flatMap((git_provider) => {
      const conflicts = task(
        git_provider,
        'MERGE_CONFLICTS',
        fullName(git_provider, 'acme/app'),
        PULL_REQUEST,
      );
      const assigned = ASSIGNED[git_provider];
      return assigned === null ? [conflicts] : [conflicts, task(git_provider, 'OPEN_ISSUE', assigned, ISSUE)];
    });
    assert.deepEqual(tasks, expected);
    for (const [n, suggested_task] of tasks.entries()) {
      const conversation_id = `task-${n}`;
      await parley.ok('POST', '/api/conversations', { conversation_id, suggested_task });
      // There is no repository to clone behind these servers. What the conversation begins with is said before more is.
      await parley.ok('POST', `/api/conversations/${conversation_id}/message`, { message: 'And soon.' });
      const said = (await parley.events(conversation_id)).filter((event) => isAction(event, 'message'));
      assert.match(
        said[0]?.args.content ?? '',
        /You are working on (Pull|Merge) Request|You are working on (issue|work item) #3/,
      );
      assert.equal(said[1]?.args.content, 'And soon.');
    }
  });

  it('that fail hide nothing of the others, and are named with what to do', async () => {
    servers.github.answerAll({ status: 401, body: { message: 'Bad credentials' } });
    servers.gitlab.answerAll({ status: 503 });
    for (const path of ['suggested-tasks', 'repositories', 'search/repositories?query=app&per_page=7']) {
      const reply = await get(path);
      assert.equal(reply.status, 200, path);
      assert.deepEqual(
        new Set((reply.body as Row[]).map(({ git_provider }) => git_provider)),
        new Set(['bitbucket', 'azure_devops', 'forgejo']),
      );
      const [github, gitlab] = failuresIn(reply);
      assert.deepEqual([github?.['provider'], github?.['code']], ['github', 'provider_token_refused']);
      assert.match(github?.['detail'] ?? '', /refused the token \(401\): store a valid one/);
      assert.deepEqual([gitlab?.['provider'], gitlab?.['code']], ['gitlab', 'provider_unavailable']);
      assert.match(gitlab?.['detail'] ?? '', /try again later/);
    }
  });

  it('that all fail are an error that says what to do, and is no fault of ours', async () => {
    const of = async (name: Name, path = 'repositories?sort=updated&selected_provider=') => {
      const { status, headers, body } = await get(`${path}${name}`);
      return { status, headers, ...(body as { code: string; detail: string }) };
    };
    servers.github.answerAll(githubLimit(new Date(Math.ceil(Date.now() / 1000 + 3_600) * 1000)));
    const limited = await of('github');
    assert.deepEqual([limited.status, limited.code], [429, 'provider_rate_limited']);
    assert.ok(Number(limited.headers.get('retry-after')) > 0);
    servers.github.answerAll({ status: 403, body: { message: 'Resource not accessible' } });
    assert.deepEqual([(await of('github')).status, (await of('github')).code], [403, 'provider_forbidden']);
    servers.github.answerAll({ body: '<html>' });
    assert.deepEqual([(await of('github')).status, (await of('github')).code], [424, 'provider_unavailable']);
    servers.github.answerAll(null);

    await store({ github: { token: TOKENS.expired, host: hostOf('github') } });
    assert.deepEqual(
      [(await of('github')).status, (await of('github')).code],
      [401, 'provider_token_refused'],
    );
    const gone = await startGithub();
    await gone.close();
    await store({ github: { token: TOKENS.good, host: gone.url } });
    const down = await of('github');
    assert.deepEqual([down.status, down.code], [424, 'provider_unavailable']);
    assert.match(down.detail, /can't be reached \(ECONNREFUSED\): check/);

    const tls = createServer(selfSigned(['localhost']), (_request, response) => response.end('{}'));
    await once(tls.listen(0, '127.0.0.1'), 'listening');
    const port = (tls.address() as AddressInfo).port;
    await store({ github: { token: TOKENS.good, host: `https://localhost:${port}` } });
    const unknown = await of('github');
    tls.close();
    assert.deepEqual([unknown.status, unknown.code], [424, 'provider_unavailable']);
    assert.match(unknown.detail, /NODE_EXTRA_CA_CERTS/);
  });

  it('show no token anywhere', () => {
    for (const token of Object.values(TOKENS)) assert.ok(!parley.output().includes(token));
  });
});

function task(
  git_provider: Name,
  task_type: string,
  repo: string,
  { number, title }: { number: number; title: string },
) {
  return { git_provider, task_type, repo, issue_number: number, title };
}

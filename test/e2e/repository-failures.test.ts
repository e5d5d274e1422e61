import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../src/events/event.ts';
import { selfSigned } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { GIT_TOKEN } from '../support/git/forge.ts';
import { type GitServer, type GitServerOptions, startGitServer } from '../support/git/git-server.ts';
import { call } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeModel } from '../support/stored.ts';

const ACCESS = 'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR';
const ERROR = 'STATUS$ERROR';

/** What GitHub's API says of the token, and git's requests with it: in order, or as when it may not be used. */
let api: { status: number; message: string } | null = null;
/** What git is answered meanwhile. */
let gitStatus: number | null = null;

/** GitHub's API of a token and a repository, as far as it is asked here; git passes on while nothing is wrong. */
function github(incoming: IncomingMessage, response: ServerResponse): boolean {
  const path = incoming.url ?? '';
  const json = (status: number, body: unknown): true => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return true;
  };
  if (path === '/api/v3/user') return json(200, { login: 'ann', id: 1 });
  if (path.startsWith('/api/v3/'))
    return api ? json(api.status, { message: api.message }) : json(404, { message: 'Not Found' });
  if (gitStatus === null) return false;
  response.writeHead(gitStatus, { 'content-type': 'text/plain' }).end('not with this token\n');
  return true;
}

const REPOSITORIES: GitServerOptions['repositories'] = {
  'acme/app': { files: { 'README.md': 'closed\n' } },
  'acme/open': { files: { 'README.md': 'open to all\n' }, public: true },
};

describe('a repository that can not be had', () => {
  let parley: Parley;
  let model: ModelServer;
  let forge: GitServer;
  let number = 0;
  /** Requests the model got for conversations that were to go on. */
  let asked = 0;
  before(async () => {
    model = await startModelServer(
      byTurn([call('execute_bash', { command: 'cat README.md' }), call('finish', { message: 'done' })]),
    );
    forge = await startGitServer({
      repositories: REPOSITORIES,
      accounts: [{ token: GIT_TOKEN }],
      intercept: github,
    });
    parley = await startParley();
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      enable_solvability_analysis: false,
    });
    await storeToken(forge.base);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  const storeToken = (host: string) =>
    parley.ok('POST', '/api/add-git-providers', { provider_tokens: { github: { token: GIT_TOKEN, host } } });
  const path = (id: string, rest = ''): string => `/api/conversations/${id}${rest}`;
  const begin = async (body: object, key?: string): Promise<string> => {
    const id = `failing-${(number += 1)}`;
    await parley.ok(
      'POST',
      '/api/conversations',
      { conversation_id: id, git_provider: 'github', initial_user_msg: 'Look at it.', ...body },
      key,
    );
    return id;
  };
  const ended = (id: string, on = parley) =>
    on.until(id, ({ status, agent_state }) => status === 'ERROR' || agent_state === 'finished');

  /** The conversation ends in an error that a person can act on, and nothing was made that looks like a workspace. */
  async function fails(id: string, code: string, runtimeStatus: string, message: RegExp): Promise<void> {
    const view = await ended(id);
    assert.deepEqual(
      [view.status, view.agent_state, view.runtime_status, view.error?.code],
      ['ERROR', 'error', runtimeStatus, code],
      JSON.stringify(view.error),
    );
    assert.match(view.error?.message ?? '', message);
    assert.match(
      view.error?.hint ?? '',
      /start the conversation again|Check its name|Create the conversation again/i,
    );
    assert.ok(!JSON.stringify(view).includes(GIT_TOKEN));
    const told = (await parley.events(id)).find((event) => isObservation(event, 'error'));
    assert.equal(told?.extras.error_id, runtimeStatus);
    assert.ok(told?.content.includes(view.error?.hint ?? '-'));
    assert.equal(model.requests.length, asked, 'no model is asked');
  }

  it('is not there', async () => {
    const id = await begin({ repository: 'acme/nothing' });
    await fails(id, 'repository_not_found', ACCESS, /has no repository acme\/nothing/);
  });

  it('lacks the branch', async () => {
    const id = await begin({ repository: 'acme/app', selected_branch: 'gone' });
    await fails(id, 'branch_not_found', ERROR, /acme\/app has no branch gone/);
  });

  it('is refused to the token, until it is accepted again and the conversation started', async () => {
    [api, gitStatus] = [{ status: 401, message: 'Bad credentials' }, 401];
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_token_refused', ACCESS, /refused the token/);
    [api, gitStatus] = [null, null];
    await parley.ok('POST', path(id, '/start'), {});
    assert.equal((await parley.until(id, ({ agent_state }) => agent_state === 'finished')).error, null);
    asked = model.requests.length;
  });

  it('is refused to a token that has expired', async () => {
    [api, gitStatus] = [
      { status: 401, message: 'Token is expired. You can either do re-authorization or token refresh.' },
      401,
    ];
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_token_expired', ACCESS, /has expired/);
    [api, gitStatus] = [null, null];
  });

  it('is beyond the scope of the token', async () => {
    [api, gitStatus] = [{ status: 403, message: 'Resource not accessible by personal access token' }, 403];
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_token_without_scope', ACCESS, /may not be used for the repository acme\/app/);
    [api, gitStatus] = [null, null];
  });

  it('is refused by git, though the API has nothing against the token', async () => {
    [api, gitStatus] = [{ status: 200, message: '' }, 403];
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_token_without_scope', ACCESS, /not with this token/);
    [api, gitStatus] = [null, null];
  });

  it('needs a token, and none is stored', async () => {
    await parley.ok('POST', '/api/unset-provider-tokens');
    await parley.ok('POST', '/api/add-git-providers', { provider_tokens: { github: { host: forge.base } } });
    api = { status: 401, message: 'Requires authentication' };
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_token_missing', ACCESS, /without a token/);
    api = null;
  });

  it('is at a host that is down', async () => {
    const gone = await startGitServer({ repositories: {} });
    await gone.close();
    await storeToken(gone.base);
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_host_unreachable', ERROR, /can't be reached \(ECONNREFUSED\)/);
  });

  it('is at a host whose certificate nobody vouches for; with its CA named, it is cloned', async () => {
    const tls = selfSigned(['localhost']);
    await using secure = await startGitServer({
      repositories: REPOSITORIES,
      accounts: [{ token: GIT_TOKEN }],
      intercept: github,
      tls,
    });
    await storeToken(secure.base.replace('127.0.0.1', 'localhost'));
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_host_certificate', ERROR, /certificate that is not trusted here/);
    assert.equal(secure.requests.length, 0, 'nobody it does not know was shown the token');

    const folder = await mkdtemp(join(tmpdir(), 'parley-ca-'));
    const file = join(folder, 'ca.pem');
    await writeFile(file, tls.cert);
    try {
      await parley.stop();
      await parley.start({ env: { NODE_EXTRA_CA_CERTS: file } });
      await parley.ok('POST', path(id, '/start'), {});
      assert.equal((await parley.until(id, ({ agent_state }) => agent_state === 'finished')).error, null);
    } finally {
      await rm(folder, { recursive: true });
      asked = model.requests.length;
    }
  });

  it('is at a private host, which is not open to one user of several', async () => {
    await parley.command('keys', 'create', '--user', 'bob');
    // The service looks now and then for what the command line does beside it.
    await eventually('the second user is noticed', async () =>
      JSON.stringify(await storeToken(forge.base)).includes('PARLEY_ALLOW_PRIVATE_HOSTS'),
    );
    const id = await begin({ repository: 'acme/app' });
    await fails(id, 'git_host_not_allowed', ERROR, /PARLEY_ALLOW_PRIVATE_HOSTS/);
  });
});

describe('a public repository', () => {
  it('is cloned without any token', async () => {
    await using model = await startModelServer(
      byTurn([call('execute_bash', { command: 'cat README.md' }), call('finish', { message: 'done' })]),
    );
    await using forge = await startGitServer({ repositories: REPOSITORIES });
    await using parley = await startParley();
    await storeModel(parley, model);
    await parley.ok('POST', '/api/add-git-providers', { provider_tokens: { forgejo: { host: forge.base } } });
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'open',
      repository: 'acme/open',
      initial_user_msg: 'Look at it.',
    });
    await parley.until('open', ({ agent_state, status }) => agent_state === 'finished' || status === 'ERROR');
    const read = (await parley.events('open')).find((event) => isObservation(event, 'run'));
    assert.match(read?.content ?? '', /open to all/);
    assert.ok(forge.requests.every(({ headers }) => headers.authorization === undefined));
  });
});

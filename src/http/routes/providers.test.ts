import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../../test/support/http.ts';
import { Vault } from '../../secrets/vault.ts';
import { SettingsService } from '../../settings/service.ts';
import { providersRoutes } from './providers.ts';
import { settingsRoutes } from './settings.ts';

type Reply = {
  message: string;
  providers: Record<string, { status: string; login?: string; reason?: string }>;
};
type Problem = { code: string; message: string; errors: { loc: unknown[] }[] };

describe('/api/add-git-providers', () => {
  let http: TestServer;
  let service: SettingsService;
  let key: string;
  let userId: string;
  let users = 0;
  /** What the providers were asked, as `host authorization`. */
  let asked: string[];
  /** Called while a provider thinks. */
  let meanwhile: () => Promise<unknown>;

  /** Knows every token that begins with `good`; hosts named `away…` can't be reached. */
  const provider: typeof fetch = async (input, init) => {
    const { host } = new URL(new Request(input).url);
    const authorization = new Headers(init?.headers).get('authorization') ?? '';
    asked.push(`${host} ${authorization}`);
    await meanwhile();
    if (host.startsWith('away')) throw new TypeError('fetch failed');
    if (!authorization.includes(' good')) return new Response('', { status: 401 });
    return Response.json({ id: 1, uuid: '{1}', login: 'ann', username: 'ann' });
  };

  before(async () => {
    http = await startHttp(({ read, transact }) => {
      const vault = new Vault(randomBytes(32));
      service = new SettingsService({ read: read.settings, transact, vault, fetch: provider });
      return [settingsRoutes(service), providersRoutes(service)];
    });
  });
  after(() => http.close());
  beforeEach(async () => {
    users += 1;
    ({ key, userId } = await http.addUser(`user${users}`));
    asked = [];
    meanwhile = () => Promise.resolve();
  });

  const add = async (body: unknown) => {
    const { status, json } = await http.request('POST', '/api/add-git-providers', { key, body });
    return { status, reply: json as Reply, problem: json as Problem };
  };
  const addTokens = (provider_tokens: unknown) => add({ provider_tokens });
  const tokens = async () =>
    (await service.snapshot(userId)).tokens.map(({ provider, host, token }) =>
      [provider, host, token.unwrap()].join(' '),
    );

  test('a token is checked at its own provider and host, and stored with whose it is', async () => {
    const { status, reply } = await addTokens({ github: { token: 'good-1', host: 'ghe.example' } });
    assert.equal(status, 200);
    assert.deepEqual(reply, {
      message: 'Git providers stored',
      providers: { github: { status: 'verified', login: 'ann' } },
    });
    assert.deepEqual(asked, ['ghe.example Bearer good-1']);
    assert.deepEqual(await tokens(), ['github ghe.example good-1']);
  });

  test('all are asked at once', async () => {
    const all = Promise.withResolvers<void>();
    meanwhile = () => {
      if (asked.length === 3) all.resolve();
      return all.promise;
    };
    const { reply } = await addTokens({ github: 'good-1', gitlab: 'good-2', forgejo: 'good-3' });
    assert.deepEqual(Object.keys(reply.providers), ['github', 'gitlab', 'forgejo']);
  });

  test('a refused token is 401, and nothing of the request is stored', async () => {
    await addTokens({ gitlab: 'good-0' });
    const { status, problem } = await add({
      provider_tokens: { github: 'bad', gitlab: 'good-1' },
      mcp_config: { sse_servers: ['https://mcp.example/'] },
    });
    assert.deepEqual([status, problem.code], [401, 'provider_token_refused']);
    assert.deepEqual(
      problem.errors.map(({ loc }) => loc.join('.')),
      ['body.provider_tokens.github.token'],
    );
    assert.match(problem.message, /valid github token/);
    assert.deepEqual(await tokens(), ['gitlab  good-0']);
  });

  test('a bad first token is not excused by a good second one', async () => {
    const { status } = await addTokens({ github: { token: 'bad', host: '' }, bitbucket: { token: 'good' } });
    assert.equal(status, 401);
  });

  test('who can not be asked is stored, unverified, with the reason', async () => {
    const { status, reply } = await addTokens({
      github: { token: 'bad', host: 'away.example' },
      enterprise_sso: 'any',
    });
    assert.equal(status, 200);
    assert.deepEqual(reply.providers, {
      github: {
        status: 'unverified',
        reason:
          "away.example can't be reached: check the host that is stored with the token, and that it is up.",
      },
      enterprise_sso: { status: 'unverified', reason: 'enterprise_sso has no check' },
    });
    assert.deepEqual(await tokens(), ['github away.example bad', 'enterprise_sso  any']);
  });

  test("a page's form with empty fields keeps what is stored, and stores nothing else", async () => {
    await addTokens({ github: { token: 'good-1', host: 'ghe.example' } });
    asked = [];
    const empty = { token: '', host: '' };
    const { status, reply } = await addTokens({ github: empty, gitlab: empty, bitbucket: { token: null } });
    assert.equal(status, 200);
    assert.deepEqual(reply.providers, { github: { status: 'verified', login: 'ann' } });
    assert.deepEqual(asked, []);
    assert.deepEqual(await tokens(), ['github ghe.example good-1']);
  });

  test('a provider that is not named stays', async () => {
    await addTokens({ github: 'good-1' });
    await addTokens({ gitlab: 'good-2' });
    for (const nothing of [{}, null]) assert.equal((await addTokens(nothing)).status, 200);
    assert.equal((await add({})).status, 200);
    assert.deepEqual(await tokens(), ['github  good-1', 'gitlab  good-2']);
  });

  test('a new token without a host goes to the stored host', async () => {
    await addTokens({ github: { token: 'good-1', host: 'ghe.example' } });
    await addTokens({ github: 'good-2' });
    assert.deepEqual(asked.slice(1), ['ghe.example Bearer good-2']);
    assert.deepEqual(await tokens(), ['github ghe.example good-2']);
  });

  test('a kept token goes to no other host, and none is asked', async () => {
    await addTokens({ github: { token: 'good-1', host: 'ghe.example' } });
    asked = [];
    const { status, problem } = await addTokens({ github: { token: '', host: 'evil.example' } });
    assert.deepEqual([status, problem.code], [422, 'secret_destination_changed']);
    assert.deepEqual(
      problem.errors.map(({ loc }) => loc.join('.')),
      ['body.provider_tokens.github.token'],
    );
    assert.deepEqual([asked, await tokens()], [[], ['github ghe.example good-1']]);
  });

  test('a host that changes while the token is checked is a conflict, not a token at the wrong host', async () => {
    await addTokens({ github: { token: 'good-1', host: 'ghe.example' } });
    meanwhile = async () => {
      meanwhile = () => Promise.resolve();
      await addTokens({ github: { token: 'good-2', host: 'other.example' } });
    };
    const { status, problem } = await addTokens({ github: 'good-3' });
    assert.deepEqual([status, problem.code], [409, 'conflict']);
    assert.deepEqual(await tokens(), ['github other.example good-2']);
  });

  test("mcp_config is stored as the user's, by the rules of the settings; null says nothing", async () => {
    await http.request('POST', '/api/settings', { key, body: {} });
    await add({ mcp_config: { shttp_servers: [{ url: 'https://mcp.example/', api_key: 'hidden-key' }] } });
    await add({ mcp_config: { sse_servers: ['https://more.example/'] } });
    await add({ mcp_config: null, provider_tokens: null });
    const { json } = await http.request('GET', '/api/settings', { key });
    assert.deepEqual((json as { mcp_config: unknown }).mcp_config, {
      sse_servers: [{ url: 'https://more.example/', api_key: null }],
      stdio_servers: [],
      shttp_servers: [{ url: 'https://mcp.example/', api_key: null }],
    });
  });

  test('tokens and servers may come before settings, which are then still not there', async () => {
    await add({ provider_tokens: { github: 'good-1' }, mcp_config: {} });
    assert.equal((await http.request('GET', '/api/settings', { key })).status, 404);
  });

  test('a host without a token is kept for what is public there, and no token is claimed', async () => {
    const { reply } = await addTokens({ forgejo: { host: 'git.example' } });
    assert.deepEqual(reply.providers, {
      forgejo: {
        status: 'unverified',
        reason: 'no token is stored for it: only what is public there can be read',
      },
    });
    assert.deepEqual(asked, []);
    const { tokens: none, providerHosts } = await service.snapshot(userId);
    assert.deepEqual([none, providerHosts], [[], { forgejo: 'git.example' }]);
    await http.request('POST', '/api/settings', { key, body: {} });
    const { json } = await http.request('GET', '/api/settings', { key });
    assert.deepEqual((json as { provider_tokens_set: unknown }).provider_tokens_set, {});

    await addTokens({ forgejo: 'good-1' });
    assert.deepEqual(await tokens(), ['forgejo git.example good-1']);
    await addTokens({ gitlab: { host: 'gl.example' } });
    await http.request('POST', '/api/settings', {
      key,
      body: { secrets_store: { provider_tokens: { gitlab: { host: '' } } } },
    });
    assert.deepEqual((await service.snapshot(userId)).providerHosts, { forgejo: 'git.example' });
  });

  test('unknown members are named', async () => {
    const { reply } = await add({ more: 1, provider_tokens: { github: { token: 'good-1', scope: 'x' } } });
    assert.deepEqual((reply as Reply & { ignored: string[] }).ignored, [
      'more',
      'provider_tokens.github.scope',
    ]);
  });

  test('unset removes every token, and of this user alone', async () => {
    await addTokens({ github: 'good-1', gitlab: 'good-2' });
    const other = await http.addUser('other-unset');
    await http.request('POST', '/api/add-git-providers', {
      key: other.key,
      body: { provider_tokens: { github: 'good-9' } },
    });
    const { status, json } = await http.request('POST', '/api/unset-provider-tokens', { key });
    assert.deepEqual([status, json], [200, { message: 'Unset Git provider tokens' }]);
    assert.deepEqual(await tokens(), []);
    assert.equal((await service.snapshot(other.userId)).tokens.length, 1);
  });

  test('a token is never seen again', async () => {
    await addTokens({ github: 'good-secret' });
    const { problem } = await addTokens({ github: 'bad-secret', gitlab: { token: 'bad\nsecret' } });
    const { text } = await http.request('GET', '/api/settings', { key });
    assert.doesNotMatch(
      JSON.stringify(problem) + text + http.logged.join(''),
      /secret"|good-secret|bad-secret|bad\\n/,
    );
  });
});

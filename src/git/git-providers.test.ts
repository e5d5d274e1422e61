import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ISSUE_QUESTIONS, QUESTIONS } from '../../test/conformance/git-provider-under.ts';
import { startProviderServer } from '../../test/support/git/providers/server.ts';
import { PROVIDERS, type ProviderName } from '../contract/providers.ts';
import { guardedPlainFetch } from '../egress/plain-fetch.ts';
import { NO_HOSTS } from '../egress/host-list.ts';
import { servicePolicy } from '../egress/policy.ts';
import { Secret } from '../secrets/secret.ts';
import { gitProvider } from './git-providers.ts';

const TOKEN = 'the-token-of-ann';

/** Where each question of the port goes, and what goes along. */
async function sentTo(provider: ProviderName, host: string): Promise<Request[]> {
  const sent: Request[] = [];
  const asked = gitProvider({
    provider,
    host,
    token: new Secret(TOKEN),
    fetch: (input, init) => {
      sent.push(new Request(input, init));
      return Promise.resolve(new Response('{}', { status: 500 }));
    },
  });
  assert.ok(asked);
  for (const ask of Object.values({ ...QUESTIONS, ...ISSUE_QUESTIONS })) await ask(asked, 'acme/app');
  return sent;
}

describe('every question goes to its own provider alone', () => {
  const places: [ProviderName, string, string][] = [
    ['github', '', 'https://api.github.com/'],
    ['github', 'acme.ghe.com', 'https://api.acme.ghe.com/'],
    ['github', 'ghe.example:8443/x', 'https://ghe.example:8443/x/api/'],
    ['gitlab', '', 'https://gitlab.com/api/'],
    ['gitlab', 'http://git.lan:81/forge', 'http://git.lan:81/forge/api/'],
    ['bitbucket', '', 'https://api.bitbucket.org/2.0/'],
    ['azure_devops', '', 'https://dev.azure.com/acme/'],
    ['azure_devops', 'dev.azure.com/contoso', 'https://dev.azure.com/contoso/'],
    ['forgejo', '', 'https://codeberg.org/api/v1/'],
    ['forgejo', 'http://git.lan:3001/code', 'http://git.lan:3001/code/api/v1/'],
  ];
  for (const [provider, host, root] of places) {
    it(`of ${provider} at "${host}": ${root}`, async () => {
      const sent = await sentTo(provider, host);
      assert.ok(sent.length > 8);
      for (const request of sent) {
        assert.ok(request.url.startsWith(root), request.url);
        assert.equal(request.redirect, 'manual');
        assert.ok(request.headers.has('authorization'));
        assert.ok(!request.url.includes(TOKEN) && !(await request.text()).includes(TOKEN));
      }
    });
  }
});

it('of five providers at once each sees its own token alone, wherever the others send one', async () => {
  const askable = PROVIDERS.filter((provider) => provider !== 'enterprise_sso');
  const servers = await Promise.all(askable.map(() => startProviderServer(() => ({}))));
  const guarded = guardedPlainFetch(
    servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
  );
  const tokenOf = (provider: ProviderName) => `token-of-${provider}`;
  // Whoever sends a request: the clients of Node, and of undici, which its fetch is made of.
  const sent: string[] = [];
  const byFetch = (message: unknown) =>
    sent.push(String((message as { request: { origin: URL } }).request.origin));
  const byHttp = () => sent.push('by node:http');
  subscribe('undici:request:create', byFetch);
  subscribe('http.client.request.start', byHttp);
  try {
    for (const [n, server] of servers.entries()) {
      const elsewhere = servers[(n + 1) % servers.length]?.url ?? '';
      const link = `<${elsewhere}/>; rel="next"`;
      server.answerAll({ status: 307, headers: { location: `${elsewhere}/`, link } });
    }
    await Promise.all(
      askable.map(async (provider, n) => {
        const host = `${servers[n]?.url}/contoso`;
        const of = gitProvider({ provider, host, token: new Secret(tokenOf(provider)), fetch: guarded });
        assert.ok(of);
        for (const ask of Object.values({ ...QUESTIONS, ...ISSUE_QUESTIONS })) await ask(of, 'acme/app');
      }),
    );
    assert.deepEqual(sent.toSorted(), servers.flatMap(({ url, asked }) => asked.map(() => url)).toSorted());
    for (const [n, server] of servers.entries()) {
      const provider = askable[n] ?? 'github';
      assert.ok(server.asked.length > 8);
      for (const { headers, path } of server.asked) {
        const [, sent = ''] = (headers.authorization ?? '').split(' ');
        const shown = sent.startsWith('token-of') ? sent : Buffer.from(sent, 'base64').toString().slice(1);
        assert.equal(shown, tokenOf(provider), path);
      }
    }
  } finally {
    unsubscribe('undici:request:create', byFetch);
    unsubscribe('http.client.request.start', byHttp);
    await guarded.close();
    await Promise.all(servers.map((server) => server.close()));
  }
});

it('a token of enterprise_sso is for git alone', () => {
  for (const host of ['', 'sso.example']) {
    assert.equal(gitProvider({ provider: 'enterprise_sso', host, token: new Secret(TOKEN), fetch }), null);
  }
});

it('a host that the egress policy forbids is not asked, and why is said', async () => {
  const server = await startProviderServer(() => ({ body: {} }));
  const guarded = guardedPlainFetch(
    servicePolicy({ privateAllowed: () => false, allowPrivateHosts: NO_HOSTS }),
  );
  try {
    for (const provider of PROVIDERS) {
      const host = `${server.url}/contoso`;
      const asked = gitProvider({ provider, host, token: new Secret(TOKEN), fetch: guarded });
      const answer = await asked?.whoAmI(new AbortController().signal);
      if (answer === undefined) continue;
      assert.ok(answer.kind === 'not_allowed');
      assert.match(answer.message, /PARLEY_ALLOW_PRIVATE_HOSTS/);
    }
    assert.deepEqual(server.asked, []);
  } finally {
    await guarded.close();
    await server.close();
  }
});

it('loads Octokit and Gitbeaker with the first question to who needs them', async () => {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({
      resolve(name, context, next) {
        if (/^@(octokit|gitbeaker)\\/(endpoint|core)$/.test(name)) loaded.add(name);
        return next(name, context);
      },
    });
    const { gitProvider } = await import(${JSON.stringify(import.meta.resolve('./git-providers.ts'))});
    const fetch = async () => new Response('{}', { status: 500 });
    for (const provider of ['forgejo', 'github', 'gitlab']) {
      const asked = gitProvider({ provider, host: 'git.example', token: null, fetch });
      await asked.whoAmI(new AbortController().signal);
      console.log(provider, ...loaded);
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  const all = ['@octokit/endpoint', '@gitbeaker/core'];
  assert.deepEqual(stdout.trim().split('\n'), ['forgejo', `github ${all[0]}`, `gitlab ${all.join(' ')}`]);
});

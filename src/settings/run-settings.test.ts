import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { Secret } from '../secrets/secret.ts';
import { Vault } from '../secrets/vault.ts';
import { EMPTY_DOCUMENT, type PlainMembers, type SettingsDocument } from './document.ts';
import { runSettingsOf } from './run-settings.ts';
import { Seals } from './seals.ts';

describe('the settings of a run', () => {
  const seals = new Seals(new Vault(randomBytes(32))).of('ann');
  const of = (more: Partial<SettingsDocument>, secrets = {}) =>
    runSettingsOf({ ...EMPTY_DOCUMENT, ...more }, secrets, seals);
  const identity = (members: PlainMembers) => of({ members }).identity;
  const key = (destination: string) => ({
    llm_api_key: seals.seal('llm_api_key', new Secret('the-model-key'), destination),
  });

  test('are defaults where nothing is stored', () => {
    assert.deepEqual(of({}), {
      agent: 'CodeActAgent',
      language: '',
      maxIterations: 500,
      maxBudget: null,
      condenser: true,
      confirmationMode: false,
      securityAnalyzer: null,
      model: null,
      searchKey: null,
      mcpServers: [],
      customSecrets: {},
      tokens: [],
      providerHosts: {},
      identity: { name: 'Parley', email: 'parley@localhost' },
      solvabilityAnalysis: true,
      resourceFactor: 1,
      consentsToAnalytics: false,
      liveSecrets: [],
    });
  });

  test('MCP servers come with the secrets that are bound to their address or program', () => {
    const mcp = {
      sse_servers: [],
      stdio_servers: [{ name: 'files', command: 'npx', args: ['files'], env: ['TOKEN', 'GONE'] }],
      shttp_servers: [{ url: 'https://a.example/mcp', timeout: 5 }, { url: 'https://b.example/mcp' }],
    };
    const sealed = (path: string, destination: string) => ({
      [path]: seals.seal(path, new Secret(`secret of ${path}`), destination),
    });
    const secrets = {
      ...sealed('mcp_config.stdio_servers.files.TOKEN', '["npx","files"]'),
      ...sealed('mcp_config.stdio_servers.files.GONE', '["npx","other"]'),
      ...sealed('mcp_config.shttp_servers.https://a.example/mcp', 'https://a.example/mcp'),
      ...sealed('mcp_config.shttp_servers.https://b.example/mcp', 'https://evil.example/mcp'),
    };
    const [files, a, b] = of({ mcp }, secrets).mcpServers;
    assert.ok(files?.kind === 'stdio' && a?.kind === 'shttp' && b?.kind === 'shttp');
    assert.deepEqual(Object.keys(files.env), ['TOKEN']);
    assert.equal(a.apiKey?.unwrap(), 'secret of mcp_config.shttp_servers.https://a.example/mcp');
    assert.deepEqual([a.callMs, b.callMs, b.apiKey], [5_000, null, null]);
  });

  test('a budget of 0 is none', () => {
    assert.equal(of({ members: { max_budget_per_task: 0 } }).maxBudget, null);
    assert.equal(of({ members: { max_budget_per_task: 0.5 } }).maxBudget, 0.5);
  });

  test('a model comes with the key that is bound to it', () => {
    const members = { llm_model: 'openai/gpt-5' };
    const { model, liveSecrets } = of({ members }, key('provider:openai'));
    assert.deepEqual([model?.name, model?.baseUrl], ['openai/gpt-5', null]);
    assert.equal(model?.apiKey?.unwrap(), 'the-model-key');
    assert.equal(liveSecrets.length, 1);
  });

  test('settings that were changed behind our back do not bring the key elsewhere', () => {
    const members = { llm_model: 'openai/gpt-5', llm_base_url: 'https://evil.example/v1' };
    assert.equal(of({ members }, key('provider:openai')).model?.apiKey, null);
    const forged = {
      llm_api_key: { ...key('provider:openai').llm_api_key, destination: 'https://evil.example' },
    };
    assert.throws(() => of({ members }, forged), { name: 'VaultError' });
  });

  test('a key without a model is still a secret that must not be seen', () => {
    const { model, liveSecrets } = of({ members: {} }, key('provider:openai'));
    assert.deepEqual([model, liveSecrets.map((secret) => secret.unwrap())], [null, ['the-model-key']]);
  });

  test("commits are git_user_*'s; else those of the address, when it is verified", () => {
    assert.deepEqual(identity({ git_user_name: 'Ann', git_user_email: 'git@example.com' }), {
      name: 'Ann',
      email: 'git@example.com',
    });
    const email = 'ann@example.com';
    assert.deepEqual(identity({ email, email_verified: true }), { name: 'ann', email });
    for (const email_verified of [false, undefined]) {
      const members = email_verified === undefined ? { email } : { email, email_verified };
      assert.equal(identity(members).email, 'parley@localhost');
    }
    assert.deepEqual(identity({ git_user_name: 'Ann', email, email_verified: true }), { name: 'Ann', email });
  });

  test('a token comes with its host and whose it is, and to no other host', () => {
    const path = 'secrets_store.provider_tokens.github';
    const secrets = { [path]: seals.seal(path, new Secret('the-token'), 'github https://ghe.example') };
    const tokensAt = (host: string) =>
      of({ tokens: { github: { host, userId: null, status: 'verified', login: 'ann' } } }, secrets).tokens;
    assert.deepEqual(
      tokensAt('ghe.example').map(({ token, ...rest }) => ({ ...rest, token: token.unwrap() })),
      [{ provider: 'github', host: 'ghe.example', login: 'ann', token: 'the-token' }],
    );
    assert.deepEqual(tokensAt('evil.example'), []);
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../../test/support/http.ts';
import { Vault } from '../../secrets/vault.ts';
import { SettingsService } from '../../settings/service.ts';
import { settingsRoutes } from './settings.ts';

/** Every member, none with its default; each secret has a word of its own. */
const FULL = {
  language: 'de',
  agent: 'ReadOnlyAgent',
  max_iterations: 77,
  security_analyzer: 'rules',
  confirmation_mode: true,
  llm_model: 'openai/gpt-5',
  llm_api_key: 'hidden-llm-key',
  llm_base_url: 'https://models.example/v1',
  remote_runtime_resource_factor: 4,
  secrets_store: {
    provider_tokens: { github: { token: 'hidden-github', host: 'ghe.example.com' }, gitlab: 'hidden-gitlab' },
    custom_secrets: { DEPLOY: { secret: 'hidden-deploy', description: 'to deploy' }, PLAIN: 'hidden-plain' },
  },
  enable_default_condenser: false,
  enable_sound_notifications: true,
  enable_proactive_conversation_starters: false,
  enable_solvability_analysis: false,
  user_consents_to_analytics: false,
  sandbox_base_container_image: 'debian:12',
  sandbox_runtime_container_image: 'debian:13',
  mcp_config: {
    sse_servers: [{ url: 'https://mcp.example/sse', api_key: 'hidden-sse' }],
    stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files'], env: { KEY: 'hidden-env' } }],
    shttp_servers: [
      { url: 'https://mcp.example/http', api_key: 'hidden-shttp', timeout: 30 },
      'https://bare.example/',
    ],
  },
  search_api_key: 'tvly-hidden',
  sandbox_api_key: 'hidden-sandbox',
  max_budget_per_task: 1.5,
  email: 'ann@example.com',
  email_verified: true,
  git_user_name: 'Ann',
  git_user_email: 'git@example.com',
};

const VIEW = {
  ...FULL,
  llm_api_key: null,
  search_api_key: null,
  sandbox_api_key: null,
  secrets_store: {
    provider_tokens: { github: null, gitlab: null },
    custom_secrets: { DEPLOY: null, PLAIN: null },
  },
  mcp_config: {
    sse_servers: [{ url: 'https://mcp.example/sse', api_key: null }],
    stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files'], env: { KEY: null } }],
    shttp_servers: [
      { url: 'https://mcp.example/http', api_key: null, timeout: 30 },
      { url: 'https://bare.example/', api_key: null },
    ],
  },
  provider_tokens_set: { github: 'ghe.example.com', gitlab: null },
  llm_api_key_set: true,
  search_api_key_set: true,
  sandbox_api_key_set: true,
};

const STORED = { message: 'Settings stored' };

describe('/api/settings', () => {
  let http: TestServer;
  let service: SettingsService;
  let key: string;
  let userId: string;
  let users = 0;
  before(async () => {
    http = await startHttp(({ read, transact }) => {
      const vault = new Vault(randomBytes(32));
      service = new SettingsService({ read: read.settings, transact, vault, fetch: unwanted });
      return [settingsRoutes(service)];
    });
  });
  after(() => http.close());
  beforeEach(async () => {
    users += 1;
    ({ key, userId } = await http.addUser(`user${users}`));
  });

  const send = async (method: string, body?: unknown) => {
    const { status, json } = await http.request(method, '/api/settings', { key, body });
    return [status, json] as const;
  };
  const post = (body: unknown) => send('POST', body);
  const get = async () => (await send('GET'))[1] as Record<string, unknown>;
  const refusal = async (body: unknown, method = 'POST') => {
    const [status, json] = await send(method, body);
    const { code, errors } = json as { code: string; errors: { loc: unknown[] }[] };
    return [status, code, ...errors.map(({ loc }) => loc.join('.'))];
  };

  test('before the first POST there are none', async () => {
    const [status, json] = await send('GET');
    assert.deepEqual([status, (json as { code: string }).code], [404, 'settings_not_found']);
  });

  test('every member is stored and read back, each secret as null', async () => {
    assert.deepEqual(await post(FULL), [200, STORED]);
    assert.deepEqual(await get(), VIEW);
  });

  test('posting what GET returned changes nothing, secrets included', async () => {
    await post(FULL);
    const before = await http.storage.read.settings.load(userId);
    assert.deepEqual(await post(await get()), [200, STORED]);
    assert.deepEqual(await http.storage.read.settings.load(userId), before);
    assert.deepEqual(await get(), VIEW);
  });

  for (const name of Object.keys(FULL) as (keyof typeof FULL)[]) {
    test(`posting back ${name} alone changes nothing of it`, async () => {
      await post(FULL);
      const read = await get();
      assert.deepEqual(await post({ [name]: read[name] }), [200, STORED]);
      assert.deepEqual((await get())[name], read[name]);
    });
  }

  test('an empty body stores the defaults', async () => {
    assert.deepEqual(await post({}), [200, STORED]);
    const { enable_default_condenser, enable_sound_notifications, language, ...rest } = await get();
    assert.deepEqual([enable_default_condenser, enable_sound_notifications, language], [true, false, null]);
    assert.equal(rest['enable_proactive_conversation_starters'], true);
    assert.equal(rest['enable_solvability_analysis'], true);
    assert.equal(rest['mcp_config'], null);
  });

  test('omitted: the four with a default take it, all others stay', async () => {
    await post(FULL);
    await post({});
    assert.deepEqual(await get(), {
      ...VIEW,
      enable_default_condenser: true,
      enable_sound_notifications: false,
      enable_proactive_conversation_starters: true,
      enable_solvability_analysis: true,
    });
  });

  test('null clears a member, gives one with a default its default, and keeps a secret', async () => {
    await post(FULL);
    const nulls = Object.fromEntries(Object.keys(FULL).map((name) => [name, null]));
    assert.deepEqual(await post(nulls), [200, STORED]);
    const read = await get();
    for (const name of ['language', 'agent', 'max_iterations', 'llm_model', 'mcp_config', 'email'])
      assert.equal(read[name], null, name);
    assert.equal(read['enable_default_condenser'], true);
    assert.equal(read['llm_api_key_set'], true);
    assert.deepEqual(read['secrets_store'], VIEW.secrets_store);
  });

  test('"" clears every string member and every key', async () => {
    await post(FULL);
    const empty = Object.entries(FULL).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, '']] : [],
    );
    assert.deepEqual(await post(Object.fromEntries(empty)), [200, STORED]);
    const read = await get();
    for (const [name] of empty) assert.equal(read[String(name)], null, name);
    assert.deepEqual(
      [read['llm_api_key_set'], read['search_api_key_set'], read['sandbox_api_key_set']],
      [false, false, false],
    );
  });

  test('a key of blanks alone is no key', async () => {
    await post(FULL);
    assert.deepEqual(await post({ llm_api_key: '   ', search_api_key: ' ', sandbox_api_key: '\u00a0' }), [
      200,
      STORED,
    ]);
    const { llm_api_key_set, search_api_key_set, sandbox_api_key_set } = await get();
    assert.deepEqual([llm_api_key_set, search_api_key_set, sandbox_api_key_set], [false, false, false]);
  });

  test('PATCH changes only what it names', async () => {
    await post(FULL);
    assert.deepEqual(await send('PATCH', { language: 'fr', enable_sound_notifications: null }), [
      200,
      STORED,
    ]);
    assert.deepEqual(await get(), { ...VIEW, language: 'fr' });
  });

  test('PATCH before the first POST stores the defaults besides', async () => {
    assert.deepEqual(await send('PATCH', { language: 'fr' }), [200, STORED]);
    const read = await get();
    assert.deepEqual([read['language'], read['enable_default_condenser']], ['fr', true]);
  });

  test('unknown members are named wherever they stand, and what GET adds is not', async () => {
    const [, json] = await post({
      condenser_max_size: 100,
      provider_tokens_set: {},
      llm_api_key_set: true,
      mcp_config: { sse_servers: [{ url: 'https://a.example/', icon: 'x' }], more: 1 },
      secrets_store: { extra: {}, custom_secrets: { NAME: { secret: 'long-enough', note: '' } } },
    });
    assert.deepEqual(json, {
      ...STORED,
      ignored: [
        'condenser_max_size',
        'mcp_config.sse_servers.0.icon',
        'mcp_config.more',
        'secrets_store.extra',
        'secrets_store.custom_secrets.NAME.note',
      ],
    });
  });

  test('a kept model key goes nowhere else, and is named', async () => {
    await post({ llm_model: 'openai/gpt-5', llm_api_key: 'hidden-llm-key' });
    const moved = [
      { llm_base_url: 'https://evil.example/v1' },
      { llm_model: 'anthropic/claude-5' },
      { llm_api_key: null, llm_base_url: 'https://evil.example/v1' },
    ];
    for (const body of moved) {
      assert.deepEqual(await refusal(body), [422, 'secret_destination_changed', 'body.llm_api_key']);
      assert.deepEqual(await refusal(body, 'PATCH'), [422, 'secret_destination_changed', 'body.llm_api_key']);
    }
    assert.equal((await get())['llm_base_url'], null);
    assert.deepEqual(await post({ llm_model: 'openai/gpt-5-mini' }), [200, STORED]);
    assert.deepEqual(await post({ llm_base_url: 'https://other.example', llm_api_key: 'another-key' }), [
      200,
      STORED,
    ]);
  });

  test('a model key can not be led elsewhere by unsetting the model first', async () => {
    await post({ llm_model: 'openai/gpt-5', llm_api_key: 'hidden-llm-key' });
    assert.deepEqual(await post({ llm_model: null }), [200, STORED]);
    assert.deepEqual(await refusal({ llm_base_url: 'https://evil.example' }), [
      422,
      'secret_destination_changed',
      'body.llm_api_key',
    ]);
    assert.deepEqual(await post({ llm_model: 'openai/gpt-5' }), [200, STORED]);
    assert.equal((await service.snapshot(userId)).model?.apiKey?.unwrap(), 'hidden-llm-key');
  });

  test('a model key that comes before its model is bound by it', async () => {
    await post({ llm_api_key: 'hidden-llm-key' });
    assert.deepEqual(await post({ llm_model: 'openai/gpt-5' }), [200, STORED]);
    assert.equal((await service.snapshot(userId)).model?.apiKey?.unwrap(), 'hidden-llm-key');
    assert.equal((await refusal({ llm_base_url: 'https://evil.example' }))[0], 422);
  });

  test('a list of MCP servers is replaced when it is given, and stays when it is omitted or null', async () => {
    await post(FULL);
    await post({ mcp_config: { sse_servers: [], stdio_servers: null } });
    assert.deepEqual((await get())['mcp_config'], { ...VIEW.mcp_config, sse_servers: [] });
  });

  test('an MCP server keeps its key by list and url, and its variables by name; another url has none', async () => {
    await post(FULL);
    await post({
      mcp_config: {
        sse_servers: [{ url: 'https://mcp.example/http' }, { url: 'https://mcp.example/sse', api_key: null }],
        stdio_servers: [
          { name: 'files', command: 'npx', args: ['-y', 'files'], env: { MORE: 'hidden-more' } },
        ],
      },
    });
    const live = await liveSecrets();
    assert.equal(live.includes('hidden-sse'), true);
    assert.equal(live.includes('hidden-env'), true);
    assert.equal(live.includes('hidden-more'), true);
    await post({ mcp_config: { sse_servers: ['https://mcp.example/other'] } });
    await post({ mcp_config: { sse_servers: ['https://mcp.example/sse'] } });
    assert.equal((await liveSecrets()).includes('hidden-sse'), false);
  });

  test('"" clears a variable of an MCP server; another program does not get those that are kept', async () => {
    await post(FULL);
    const server = FULL.mcp_config.stdio_servers[0];
    const with_ = (more: object) => ({ mcp_config: { stdio_servers: [{ ...server, env: {}, ...more }] } });
    const variable = 'body.mcp_config.stdio_servers.0.env.KEY';
    for (const changed of [{ command: 'sh' }, { args: ['-c', 'env'] }, { args: null }]) {
      assert.deepEqual(await refusal(with_(changed)), [422, 'secret_destination_changed', variable]);
    }
    assert.deepEqual(await post(with_({ env: { KEY: '' } })), [200, STORED]);
    assert.equal((await liveSecrets()).includes('hidden-env'), false);
    assert.deepEqual(await post(with_({ command: 'sh' })), [200, STORED]);
  });

  test('secrets_store is merged entry by entry', async () => {
    await post(FULL);
    await post({
      secrets_store: {
        provider_tokens: { gitlab: '', forgejo: { token: 'hidden-forgejo' } },
        custom_secrets: {
          PLAIN: { secret: null, description: 'now described' },
          DEPLOY: '',
          NEW: 'hidden-new',
        },
      },
    });
    assert.deepEqual((await get())['secrets_store'], {
      provider_tokens: { github: null, forgejo: null },
      custom_secrets: { NEW: null, PLAIN: null },
    });
    const { customSecrets, tokens } = await service.snapshot(userId);
    assert.equal(customSecrets['PLAIN']?.description, 'now described');
    assert.equal(customSecrets['PLAIN'].secret.unwrap(), 'hidden-plain');
    assert.deepEqual(
      tokens.map(({ provider, token }) => [provider, token.unwrap()]),
      [
        ['github', 'hidden-github'],
        ['forgejo', 'hidden-forgejo'],
      ],
    );
  });

  test('a kept provider token goes to no other host', async () => {
    await post(FULL);
    const to = (host: string) => ({ secrets_store: { provider_tokens: { github: { token: null, host } } } });
    const named = 'body.secrets_store.provider_tokens.github.token';
    for (const host of ['evil.example', 'http://ghe.example.com', '']) {
      assert.deepEqual(await refusal(to(host)), [422, 'secret_destination_changed', named]);
    }
    assert.deepEqual(await post(to('https://ghe.example.com/')), [200, STORED]);
  });

  test('a description needs a secret', async () => {
    assert.deepEqual(await refusal({ secrets_store: { custom_secrets: { NONE: { description: 'x' } } } }), [
      422,
      'invalid_request',
      'body.secrets_store.custom_secrets.NONE.secret',
    ]);
  });

  test('a refused request stores nothing of itself', async () => {
    await post({ language: 'de' });
    assert.equal((await refusal({ language: 'fr', max_iterations: 0 }))[0], 422);
    assert.equal((await get())['language'], 'de');
  });

  test("nobody sees or changes another's", async () => {
    await post(FULL);
    const other = await http.addUser('other');
    const { status } = await http.request('GET', '/api/settings', { key: other.key });
    assert.equal(status, 404);
    await http.request('POST', '/api/settings', { key: other.key, body: { language: 'it' } });
    assert.deepEqual(await get(), VIEW);
  });

  test('no secret stands in clear on disk, in an answer or in the log', async () => {
    await post(FULL);
    const stored = JSON.stringify(await http.storage.read.settings.load(userId));
    const [, refused] = await post({
      llm_api_key: 'hidden\nkey',
      search_api_key: 'hidden-search',
      agent: 'x',
    });
    for (const text of [stored, JSON.stringify(refused), JSON.stringify(await get()), http.logged.join('')]) {
      assert.doesNotMatch(text, /hidden/);
    }
  });

  test('a secret that was moved in the database does not open', async () => {
    await post(FULL);
    const stored = await http.storage.read.settings.load(userId);
    assert.ok(stored);
    const { llm_api_key, ...others } = stored.secrets;
    assert.ok(llm_api_key);
    await http.storage.transact(({ settings }) =>
      settings.save(userId, { ...stored, secrets: { ...others, sandbox_api_key: llm_api_key } }),
    );
    await assert.rejects(service.snapshot(userId), { name: 'VaultError' });
  });

  const liveSecrets = async () =>
    (await service.snapshot(userId)).liveSecrets.map((secret) => secret.unwrap());
});

const unwanted: typeof fetch = () => Promise.reject(new Error('settings call nobody'));

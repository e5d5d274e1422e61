import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGithub } from '../support/git/providers/github.ts';
import type { ProviderServer } from '../support/git/providers/server.ts';
import { TOKENS } from '../support/git/providers/world.ts';
import { call, say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, TEST_KEY } from '../support/parley.ts';
import { DIFFERENCES, MISSING } from './v0/differences.ts';
import { differences, V0_ROUTES } from './v0/document.ts';

let parley: Parley;
let model: ModelServer;
let provider: ProviderServer;
/** Route and status → where the answers were not as the document says. */
const seen = new Map<string, Set<string>>();
/** Routes that are not there. */
const missing = new Set<string>();

before(async () => {
  model = await startModelServer(({ turn }) =>
    turn === 0 ? call('execute_bash', { command: 'git init -q . && echo b > b.txt' }) : say('What next?'),
  );
  provider = await startGithub();
  parley = await startParley();
});
after(async () => {
  await parley.close();
  await model.close();
  await provider.close();
});

test('a full run is answered as the document of V0 says', async () => {
  const settings = {
    llm_model: 'openai/scripted',
    llm_api_key: 'sk-a-model-key',
    llm_base_url: model.baseUrl,
  };
  await ask('GET /api/settings');
  await ask('POST /api/settings', {
    body: { ...settings, mcp_config: { shttp_servers: [{ url: 'http://127.0.0.1:9/mcp' }] } },
  });
  await ask('POST /api/settings', { body: { max_iterations: 'many' } });
  await ask('GET /api/settings');
  await ask('POST /api/reset-settings');
  for (const what of ['models', 'agents', 'security-analyzers', 'config'])
    await ask(`GET /api/options/${what}`);
  const github = { token: TOKENS.good, host: provider.url };
  await ask('POST /api/add-git-providers', { body: { provider_tokens: { github } } });
  await ask('POST /api/add-git-providers', { body: { provider_tokens: { nonsense: {} } } });
  await ask('GET /api/settings');
  await askTheProvider();
  await ask('POST /api/unset-provider-tokens');
  await askTheProvider();
  await ask('POST /api/secrets', { body: { name: 'FOO', value: 'a-secret-value', description: 'd' } });
  await ask('POST /api/secrets', { body: { name: 'FOO', value: 'a-secret-value' } });
  await ask('GET /api/secrets');
  const foo = { secret_id: 'FOO' };
  await ask('PUT /api/secrets/{secret_id}', { with: foo, body: { name: 'FOO', description: 'e' } });
  await ask('DELETE /api/secrets/{secret_id}', { with: foo });
  await ask('DELETE /api/secrets/{secret_id}', { with: foo });

  await ask('POST /api/conversations', { body: { conversation_id: 'one', initial_user_msg: 'hello' } });
  await ask('POST /api/conversations', { body: { bogus: 1 } });
  await parley.until('one', ({ agent_state }) => agent_state === 'awaiting_user_input');
  await ask('GET /api/conversations', { query: 'limit=10' });
  for (const id of ['one', 'none']) {
    const one = { conversation_id: id };
    const of = '/api/conversations/{conversation_id}';
    await ask(`GET ${of}`, { with: one });
    await ask(`GET ${of}/events`, { with: one, query: 'limit=100' });
    await ask(`GET ${of}/trajectory`, { with: one });
    await ask(`GET ${of}/config`, { with: one });
    await ask(`GET ${of}/list-files`, { with: one });
    await ask(`GET ${of}/microagents`, { with: one });
    await ask(`GET ${of}/zip-directory`, { with: one });
    await ask(`GET ${of}/select-file`, { with: one, query: 'file=a.txt' });
    await ask(`GET ${of}/git/changes`, { with: one });
    await ask(`GET ${of}/git/diff`, { with: one, query: 'path=b.txt' });
    await ask(`GET ${of}/remember-prompt`, { with: one, query: 'event_id=1' });
    await ask(`POST ${of}/upload-files`, { with: one, files: { 'a.txt': 'a\n' } });
    await ask(`GET ${of}/list-files`, { with: one });
    await ask(`GET ${of}/select-file`, { with: one, query: 'file=a.txt' });
    await ask(`GET ${of}/zip-directory`, { with: one });
    await ask(`POST ${of}/events`, { with: one, body: { action: 'message', args: { content: 'hi' } } });
    await ask(`PATCH ${of}`, { with: one, body: { title: 'A title' } });
    await ask(`POST ${of}/stop`, { with: one });
    await ask(`POST ${of}/stop`, { with: one });
    await ask(`POST ${of}/start`, { with: one, body: { providers_set: [] } });
    await ask(`POST ${of}/submit-feedback`, {
      with: one,
      body: {
        email: 'a@b.c',
        token: '',
        feedback: 'positive',
        permissions: 'private',
        trajectory: [],
        version: '1.0',
      },
    });
    await ask(`DELETE ${of}`, { with: one });
  }
  await ask('GET /alive');
  await ask('GET /health');
});

test('every route of the document was asked for, and only those listed are missing', () => {
  const asked = new Set([...seen.keys(), ...missing].map((key) => key.replace(/ \d+$/, '')));
  assert.deepEqual([...V0_ROUTES].toSorted(), [...asked].toSorted());
  assert.deepEqual([...missing].toSorted(), [...MISSING].toSorted());
  // One of them is documented to be gone.
  const succeeded = V0_ROUTES.filter((route) =>
    [200, 201, 410].some((status) => seen.has(`${route} ${status}`)),
  );
  assert.deepEqual([...succeeded, ...MISSING].toSorted(), [...V0_ROUTES].toSorted(), 'each succeeded once');
});

test('an answer differs from the document only where a decision asks for it', () => {
  const found = [...seen].flatMap(([key, differences]) => [...differences].map((what) => `${key}: ${what}`));
  const meant = DIFFERENCES.flatMap(({ answers, what }) => answers.map((key) => `${key}: ${what}`));
  assert.deepEqual(found.toSorted(), meant.toSorted());
});

test('any action of V0 that a client sends is stored with source user, and answered where V0 answers one', async () => {
  await ask('POST /api/conversations', { body: { conversation_id: 'actions' } });
  const actions: Record<string, object> = {
    run: { command: 'true', hidden: false },
    read: { path: '/workspace' },
    write: { path: '/workspace/a.txt', content: 'a', start: 0, end: -1 },
    edit: { path: '/workspace/b.txt', command: 'create', file_text: 'b' },
    think: { thought: 'hm' },
    task_tracking: { command: 'view', task_list: [] },
    call_tool_mcp: { name: 'none', arguments: {} },
    run_ipython: { code: 'print(1)', kernel_init_code: '' },
    browse: { url: 'http://x', return_axtree: false },
    browse_interactive: { browser_actions: 'noop()', browsergym_send_msg_to_user: '' },
    delegate: { agent: 'BrowsingAgent', inputs: {} },
    condensation_request: {},
  };
  const unanswered: Record<string, object> = {
    system: { content: 'Obey.', tools: [] },
    recall: { query: 'x', recall_type: 'knowledge' },
    condensation: { forgotten_event_ids: [0, 1] },
    null: {},
    finish: { final_thought: 'done', outputs: {} },
    reject: { outputs: { reason: 'no' } },
    message: { content: 'hi' },
    change_agent_state: { agent_state: 'paused' },
  };
  await parley.until('actions', ({ agent_state }) => agent_state === 'awaiting_user_input');
  for (const [action, args] of Object.entries({ ...actions, ...unanswered })) {
    const { status } = await parley.request('POST', '/api/conversations/actions/events', { action, args });
    assert.equal(status, 200, action);
    await parley.untilEvents('actions', (events) => {
      const asked = events.findLast(
        (event) => 'action' in event && event.action === action && event.source === 'user',
      );
      if (!asked || action in unanswered) return asked !== undefined;
      return events.some((event) => 'observation' in event && event.cause === asked.id);
    });
  }
  const unknown = { action: 'no_such_action', args: {} };
  const refused = await parley.request('POST', '/api/conversations/actions/events', unknown);
  assert.equal(refused.status, 422);
  assert.equal(
    (await parley.events('actions')).some(
      (event) => 'action' in event && (event.action as string) === 'no_such_action',
    ),
    false,
  );
});

async function askTheProvider(): Promise<void> {
  for (const route of V0_ROUTES) {
    if (!route.startsWith('GET /api/user/')) continue;
    await ask(route, {
      with: { repository_name: 'acme%2Fapp' },
      query: 'provider=github&query=app&repository=acme/app&file_path=README.md',
    });
  }
}

interface More {
  with?: Record<string, string>;
  query?: string;
  body?: unknown;
  files?: Record<string, string>;
}

/** Plays one request and notes where its answer differs. */
async function ask(route: string, { with: values = {}, query = '', body, files }: More = {}): Promise<void> {
  const [method = '', pattern = ''] = route.split(' ');
  const path = pattern.replaceAll(/\{([^}]+)\}/g, (_, name: string) => values[name] ?? name);
  const form = new FormData();
  for (const [name, text] of Object.entries(files ?? {})) form.append('files', new Blob([text]), name);
  const response = await fetch(`${parley.url}${path}${query && `?${query}`}`, {
    method,
    headers: {
      'x-session-api-key': TEST_KEY,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(files && { body: form }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  const answer: unknown = isJson ? JSON.parse(text) : text;
  if ((answer as { code?: string } | null)?.code === 'not_found') return void missing.add(route);
  const key = `${route} ${response.status}`;
  const known = seen.get(key) ?? new Set();
  for (const difference of differences(route, response.status, answer)) known.add(difference);
  seen.set(key, known);
}

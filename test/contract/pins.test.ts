/** What clients rely on, as literals: whoever changes one of these changes the interface, and sees it here. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TOOLBOX } from '../../src/agent/tools/toolbox.ts';
import {
  CONVERSATION_STATUSES,
  conversationBody,
  conversationView,
  createMicroagent,
  suggestedTask,
  TASK_TYPES,
} from '../../src/contract/conversations.ts';
import { mcpConfig } from '../../src/contract/mcp.ts';
import { PROVIDERS, providerTokensBody } from '../../src/contract/providers.ts';
import {
  AGENTS,
  SECURITY_ANALYZERS,
  settingsBody,
  settingsPatch,
  settingsView,
} from '../../src/contract/settings.ts';
import { ERRORS, type MemberError } from '../../src/errors.ts';
import { AGENT_STATES } from '../../src/events/event.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { CONVERSATION_CASES } from './corpus.ts';

const SETTINGS = [
  'language',
  'agent',
  'max_iterations',
  'security_analyzer',
  'confirmation_mode',
  'llm_model',
  'llm_api_key',
  'llm_base_url',
  'remote_runtime_resource_factor',
  'secrets_store',
  'enable_default_condenser',
  'enable_sound_notifications',
  'enable_proactive_conversation_starters',
  'enable_solvability_analysis',
  'user_consents_to_analytics',
  'sandbox_base_container_image',
  'sandbox_runtime_container_image',
  'mcp_config',
  'search_api_key',
  'sandbox_api_key',
  'max_budget_per_task',
  'email',
  'email_verified',
  'git_user_name',
  'git_user_email',
];

test('the members of the three bodies', () => {
  assert.deepEqual(Object.keys(settingsBody.shape), SETTINGS);
  assert.deepEqual(Object.keys(settingsPatch.shape), SETTINGS);
  assert.deepEqual(Object.keys(providerTokensBody.shape), ['mcp_config', 'provider_tokens']);
  assert.deepEqual(Object.keys(conversationBody.shape), [
    'repository',
    'git_provider',
    'selected_branch',
    'initial_user_msg',
    'image_urls',
    'replay_json',
    'suggested_task',
    'create_microagent',
    'conversation_instructions',
    'mcp_config',
    'conversation_id',
  ]);
  const task = ['git_provider', 'task_type', 'repo', 'issue_number', 'title'];
  assert.deepEqual(Object.keys(suggestedTask.shape), task);
  assert.deepEqual(Object.keys(createMicroagent.shape), ['repo', 'git_provider', 'title']);
  assert.deepEqual(Object.keys(mcpConfig.shape), ['sse_servers', 'stdio_servers', 'shttp_servers']);
});

test('the defaults', () => {
  assert.deepEqual(settingsBody.parse({}), {
    enable_default_condenser: true,
    enable_sound_notifications: false,
    enable_proactive_conversation_starters: true,
    enable_solvability_analysis: true,
  });
  assert.deepEqual(settingsPatch.parse({}), {});
});

test('what is read back', () => {
  assert.deepEqual(
    Object.keys(settingsView.shape).sort(),
    [
      ...SETTINGS,
      'provider_tokens_set',
      'llm_api_key_set',
      'search_api_key_set',
      'sandbox_api_key_set',
    ].sort(),
  );
  assert.deepEqual(Object.keys(conversationView.shape), [
    'conversation_id',
    'title',
    'last_updated_at',
    'status',
    'runtime_status',
    'selected_repository',
    'selected_branch',
    'git_provider',
    'trigger',
    'num_connections',
    'url',
    'session_api_key',
    'created_at',
    'pr_number',
    'agent_state',
    'queued',
    'error',
  ]);
});

test('the sets of names', () => {
  assert.deepEqual(AGENTS, ['CodeActAgent', 'DummyAgent', 'ReadOnlyAgent']);
  assert.deepEqual(SECURITY_ANALYZERS, ['llm', 'rules']);
  const providers = ['github', 'gitlab', 'bitbucket', 'azure_devops', 'forgejo', 'enterprise_sso'];
  assert.deepEqual(PROVIDERS, providers);
  assert.deepEqual(TASK_TYPES, [
    'MERGE_CONFLICTS',
    'FAILING_CHECKS',
    'UNRESOLVED_COMMENTS',
    'OPEN_ISSUE',
    'OPEN_PR',
    'CREATE_MICROAGENT',
  ]);
  assert.deepEqual(CONVERSATION_STATUSES, ['STARTING', 'RUNNING', 'STOPPED', 'ERROR']);
  assert.deepEqual(AGENT_STATES, [
    'loading',
    'running',
    'awaiting_user_input',
    'awaiting_user_confirmation',
    'user_confirmed',
    'user_rejected',
    'paused',
    'stopped',
    'finished',
    'rejected',
    'error',
    'rate_limited',
  ]);
});

test('the tools', () => {
  const names = TOOLBOX.CodeActAgent.map(({ name }) => name);
  assert.deepEqual(names, ['execute_bash', 'str_replace_editor', 'think', 'task_tracker', 'finish']);
});

test('the error codes and their statuses', () => {
  const statuses = Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));
  assert.deepEqual(statuses, {
    unauthorized: 401,
    provider_token_refused: 401,
    git_token_required: 401,
    origin_refused: 403,
    provider_forbidden: 403,
    host_refused: 421,
    not_found: 404,
    settings_not_found: 404,
    conversation_not_found: 404,
    event_not_found: 404,
    file_not_found: 404,
    not_a_repository: 404,
    repository_not_found: 404,
    secret_not_found: 404,
    method_not_allowed: 405,
    request_timeout: 408,
    conflict: 409,
    gone: 410,
    body_too_large: 413,
    file_too_large: 413,
    unsupported_media_type: 415,
    file_is_binary: 415,
    malformed_http: 400,
    invalid_request: 422,
    secret_destination_changed: 422,
    secret_exists: 400,
    invalid_limit: 400,
    provider_unavailable: 424,
    rate_limited: 429,
    provider_rate_limited: 429,
    queue_full: 429,
    internal: 500,
    sandbox_unavailable: 503,
    disk_almost_full: 503,
    storage_unavailable: 503,
    shutting_down: 503,
  });
});

describe('the routes', () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley({ PARLEY_SANDBOX: 'none' });
  });
  after(() => parley.close());

  /** Method and path → the status of success. */
  const ROUTES: Record<string, string> = {
    'POST /api/settings': '200',
    'POST /api/settings/check': '200',
    'PATCH /api/settings': '200',
    'GET /api/settings': '200',
    'GET /api/secrets': '200',
    'POST /api/secrets': '201',
    'PUT /api/secrets/{name}': '200',
    'DELETE /api/secrets/{name}': '200',
    'POST /api/add-git-providers': '200',
    'POST /api/unset-provider-tokens': '200',
    'GET /api/user/info': '200',
    'GET /api/user/installations': '200',
    'GET /api/user/repositories': '200',
    'GET /api/user/search/repositories': '200',
    'GET /api/user/repository/branches': '200',
    'GET /api/user/search/branches': '200',
    'GET /api/user/repository/{repository_name}/microagents': '200',
    'GET /api/user/repository/{repository_name}/microagents/content': '200',
    'GET /api/user/suggested-tasks': '200',
    'GET /api/options/config': '200',
    'GET /api/options/models': '200',
    'GET /api/options/agents': '200',
    'GET /api/options/security-analyzers': '200',
    'POST /api/conversations': '200',
    'GET /api/conversations': '200',
    'GET /api/conversations/{id}': '200',
    'PATCH /api/conversations/{id}': '200',
    'DELETE /api/conversations/{id}': '200',
    'POST /api/conversations/{id}/start': '200',
    'POST /api/conversations/{id}/stop': '200',
    'POST /api/conversations/{id}/message': '200',
    'GET /api/conversations/{id}/events': '200',
    'POST /api/conversations/{id}/events': '200',
    'GET /api/conversations/{id}/trajectory': '200',
    'GET /api/conversations/{id}/events/stream': '200',
    'POST /api/conversations/{id}/exp-config': '200',
    'POST /api/conversations/{id}/submit-feedback': '200',
    'GET /api/conversations/{id}/mcp': '200',
    'GET /api/conversations/{id}/list-files': '200',
    'GET /api/conversations/{id}/select-file': '200',
    'POST /api/conversations/{id}/upload-files': '200',
    'GET /api/conversations/{id}/zip-directory': '200',
    'GET /api/conversations/{id}/patch': '200',
    'GET /api/conversations/{id}/git/changes': '200',
    'GET /api/conversations/{id}/git/diff': '200',
    'GET /api/conversations/{id}/microagents': '200',
    'GET /api/conversations/{id}/remember-prompt': '200',
    'GET /api/conversations/{id}/config': '200',
    'GET /api/conversations/{id}/vscode-url': '200',
    'GET /api/conversations/{id}/web-hosts': '200',
  };

  test('are described with their status of success', async () => {
    type Operations = Record<string, { responses: Record<string, unknown> }>;
    const { paths } = (await parley.ok('GET', '/openapi.json')) as { paths: Record<string, Operations> };
    for (const [route, status] of Object.entries(ROUTES)) {
      const [method = '', path = ''] = route.split(' ');
      const responses = paths[path]?.[method.toLowerCase()]?.responses;
      assert.ok(responses, `${route} is not described`);
      assert.deepEqual(
        Object.keys(responses).filter((code) => code.startsWith('2')),
        [status],
        route,
      );
    }
  });

  test('are described with what they answer when a conversation is unknown, and the numbers as text', async () => {
    type Operations = Record<string, { responses: Record<string, { content: object }> }>;
    const { paths } = (await parley.ok('GET', '/openapi.json')) as { paths: Record<string, Operations> };
    for (const [path, operations] of Object.entries(paths)) {
      if (!/\/api\/conversations\/\{id\}(?!\/exp-config)/.test(path)) continue;
      for (const [method, { responses }] of Object.entries(operations)) {
        assert.ok(responses['404'], `${method} ${path}`);
      }
    }
    const contentOf = (path: string) => Object.keys(paths[path]?.['get']?.responses['200']?.content ?? {});
    assert.deepEqual(contentOf('/api/conversations/{id}/events/stream'), ['text/event-stream']);
    assert.deepEqual(contentOf('/metrics'), ['text/plain']);
  });

  test('want a key, whatever the body', async () => {
    for (const route of Object.keys(ROUTES)) {
      const [method = '', path = ''] = route.split(' ');
      const { status, body } = await parley.request(
        method,
        path.replace(/\{\w+\}/, 'x'),
        undefined,
        'wrong-key',
      );
      assert.deepEqual([status, (body as { code: string }).code], [401, 'unauthorized'], route);
    }
  });

  test('to create conversations refuse what the corpus says, naming every member', async () => {
    for (const { is, body, rejected } of CONVERSATION_CASES) {
      if (!rejected) continue;
      const reply = await parley.request('POST', '/api/conversations', body);
      const { errors = [] } = reply.body as { errors?: MemberError[] };
      const named = errors.map(({ loc, type }) => `${loc.join('.')} ${type}`);
      assert.deepEqual([reply.status, named], [422, rejected], is);
    }
    assert.deepEqual(await parley.ok('GET', '/api/conversations'), { results: [], next_page_id: null });
  });

  test('are open where nothing of a user is shown', async () => {
    for (const path of ['/alive', '/health', '/ready', '/server_info', '/openapi.json']) {
      const response = await fetch(parley.url + path);
      await response.text();
      // Without a sandbox it is not ready, and says so.
      assert.equal(response.status, path === '/ready' ? 503 : 200, path);
    }
  });

  test('of options give what can be chosen, sorted', async () => {
    assert.deepEqual(await parley.ok('GET', '/api/options/config'), {
      APP_MODE: 'oss',
      GITHUB_CLIENT_ID: '',
      POSTHOG_CLIENT_KEY: '',
      FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false, HIDE_MICROAGENT_MANAGEMENT: true },
    });
    const agents = await parley.ok('GET', '/api/options/agents');
    assert.deepEqual(agents, ['CodeActAgent', 'DummyAgent', 'ReadOnlyAgent']);
    assert.deepEqual(await parley.ok('GET', '/api/options/security-analyzers'), ['llm', 'rules']);
    const models = (await parley.ok('GET', '/api/options/models')) as string[];
    assert.ok(models.length > 50 && models.every((name) => name.includes('/')));
    assert.deepEqual(models, [...models].sort());
  });
});

import { MOST_TEXT } from '../../src/files/browse.ts';
import { TOKENS } from '../support/git/providers/world.ts';

/** A request that succeeds, once {@link SETUP} was done; each leaves what the others need. */
export interface Sample {
  method: string;
  path: string;
  body?: unknown;
  /** Of several, the one that a form sends: its files by their names. */
  files?: Record<string, Uint8Array>;
  headers?: Record<string, string>;
}

const IN = '/api/conversations/one';
const BRANCHES = '/api/user/repository/branches';
const SEARCH = '/api/user/search/branches';
const APP = '/api/user/repository/acme%2Fapp';

/** Where the git provider of the samples is. */
export const GIT_HOST = 'http://git.example';

/** Stores a token as it is: only asking with it shows what it is good for. */
export function storeToken(host: string): Sample {
  const github = { token: TOKENS.good, host };
  return { method: 'POST', path: '/api/settings', body: { secrets_store: { provider_tokens: { github } } } };
}

export const SETUP: readonly Sample[] = [
  { method: 'POST', path: '/api/settings', body: { language: 'en' } },
  storeToken(GIT_HOST),
  { method: 'POST', path: '/api/secrets', body: { name: 'KEPT', value: 'a-secret-value-1' } },
  { method: 'POST', path: '/api/secrets', body: { name: 'GOING', value: 'a-secret-value-2' } },
  { method: 'POST', path: '/api/conversations', body: { conversation_id: 'one', initial_user_msg: 'Hello' } },
  { method: 'POST', path: '/api/conversations', body: { conversation_id: 'going' } },
  {
    method: 'POST',
    path: `${IN}/upload-files`,
    files: {
      'a.txt': Buffer.from('text'),
      'a.bin': Buffer.from([0, 1, 2]),
      'large.txt': Buffer.alloc(MOST_TEXT + 1, 'x'),
    },
  },
];

const read = (path: string): Sample => ({ method: 'GET', path });
const post = (path: string, body?: unknown): Sample => ({ method: 'POST', path, body });

/** For every route of the document a request that succeeds; `key` and `origin` are those of the service asked. */
export function samples(key: string, origin: string): Readonly<Record<string, Sample>> {
  return {
    'GET /metrics': read('/metrics'),
    'POST /api/login': post('/api/login', { key }),
    'POST /api/logout': {
      ...post('/api/logout'),
      headers: { cookie: 'parley_session=none', origin },
    },
    'GET /alive': read('/alive'),
    'GET /health': read('/health'),
    'GET /ready': read('/ready'),
    'GET /server_info': read('/server_info'),
    'POST /api/settings': post('/api/settings', { language: 'de' }),
    'PATCH /api/settings': { method: 'PATCH', path: '/api/settings', body: { language: 'fr' } },
    'GET /api/settings': read('/api/settings'),
    'POST /api/reset-settings': post('/api/reset-settings'),
    'POST /api/settings/check': post('/api/settings/check', {
      llm_model: 'openai/scripted',
      llm_base_url: 'http://models.example/v1',
      llm_api_key: '',
    }),
    'GET /api/secrets': read('/api/secrets'),
    'POST /api/secrets': post('/api/secrets', { name: 'NEW', value: 'a-secret-value-3' }),
    'PUT /api/secrets/{name}': { method: 'PUT', path: '/api/secrets/KEPT', body: { name: 'KEPT' } },
    'DELETE /api/secrets/{name}': { method: 'DELETE', path: '/api/secrets/GOING' },
    'POST /api/add-git-providers': post('/api/add-git-providers', {
      provider_tokens: { gitlab: { token: 'a-token-0123456789' } },
    }),
    'GET /api/user/info': read('/api/user/info'),
    'GET /api/user/installations': read('/api/user/installations?provider=github'),
    'GET /api/user/repositories': read('/api/user/repositories'),
    'GET /api/user/search/repositories': read('/api/user/search/repositories?query=app'),
    'GET /api/user/repository/branches': read(`${BRANCHES}?repository=acme/app`),
    'GET /api/user/search/branches': read(`${SEARCH}?repository=acme/app&query=fix`),
    'GET /api/user/repository/{repository_name}/microagents': read(`${APP}/microagents`),
    'GET /api/user/repository/{repository_name}/microagents/content': read(
      `${APP}/microagents/content?file_path=README.md`,
    ),
    'GET /api/user/suggested-tasks': read('/api/user/suggested-tasks'),
    'POST /api/unset-provider-tokens': post('/api/unset-provider-tokens'),
    'GET /api/options/config': read('/api/options/config'),
    'GET /api/options/models': read('/api/options/models'),
    'GET /api/options/agents': read('/api/options/agents'),
    'GET /api/options/security-analyzers': read('/api/options/security-analyzers'),
    'POST /api/conversations': post('/api/conversations', { conversation_id: 'new' }),
    'GET /api/conversations': read('/api/conversations'),
    'GET /api/conversations/{id}': read(IN),
    'PATCH /api/conversations/{id}': { method: 'PATCH', path: IN, body: { title: 'A title' } },
    'DELETE /api/conversations/{id}': { method: 'DELETE', path: '/api/conversations/going' },
    'POST /api/conversations/{id}/start': post(`${IN}/start`, {}),
    'POST /api/conversations/{id}/stop': post(`${IN}/stop`),
    'POST /api/conversations/{id}/exp-config': post(`${IN}/exp-config`, { config: {} }),
    'GET /api/conversations/{id}/mcp': read(`${IN}/mcp`),
    'GET /api/conversations/{id}/list-files': read(`${IN}/list-files`),
    'GET /api/conversations/{id}/select-file': read(`${IN}/select-file?file=a.txt`),
    'GET /api/conversations/{id}/zip-directory': read(`${IN}/zip-directory`),
    'GET /api/conversations/{id}/patch': read(`${IN}/patch`),
    'GET /api/conversations/{id}/git/changes': read(`${IN}/git/changes`),
    'GET /api/conversations/{id}/git/diff': read(`${IN}/git/diff?path=a.txt`),
    'GET /api/conversations/{id}/microagents': read(`${IN}/microagents`),
    'GET /api/conversations/{id}/config': read(`${IN}/config`),
    'GET /api/conversations/{id}/vscode-url': read(`${IN}/vscode-url`),
    'GET /api/conversations/{id}/web-hosts': read(`${IN}/web-hosts`),
    'POST /api/conversations/{id}/upload-files': {
      ...post(`${IN}/upload-files`),
      files: { 'b.txt': Buffer.from('more') },
    },
    'GET /api/conversations/{id}/remember-prompt': read(`${IN}/remember-prompt?event_id=0`),
    'POST /api/conversations/{id}/submit-feedback': post(`${IN}/submit-feedback`, { polarity: 'positive' }),
    'GET /api/conversations/{id}/events': read(`${IN}/events`),
    'POST /api/conversations/{id}/events': post(`${IN}/events`, {
      action: 'message',
      args: { content: 'Hello again' },
    }),
    'GET /api/conversations/{id}/trajectory': read(`${IN}/trajectory`),
    'GET /api/conversations/{id}/events/stream': read(`${IN}/events/stream`),
    'POST /api/conversations/{id}/message': post(`${IN}/message`, { message: 'And again' }),
  };
}

const MICROAGENTS = 'GET /api/user/repository/{repository_name}/microagents';

/** What else a route may answer, by a request of its own. */
export const REFUSALS: readonly [route: string, status: number, sample: Sample][] = [
  ['POST /api/login', 401, post('/api/login', { key: 'a-wrong-key' })],
  ['GET /metrics', 401, { ...read('/metrics'), headers: { 'x-forwarded-for': '192.0.2.1' } }],
  ['POST /api/secrets', 400, post('/api/secrets', { name: 'KEPT', value: 'a-secret-value-4' })],
  ['PUT /api/secrets/{name}', 400, { method: 'PUT', path: '/api/secrets/KEPT', body: { name: 'GOING' } }],
  ['PUT /api/secrets/{name}', 404, { method: 'PUT', path: '/api/secrets/NONE', body: { name: 'NONE' } }],
  ['DELETE /api/secrets/{name}', 404, { method: 'DELETE', path: '/api/secrets/NONE' }],
  ['GET /api/user/installations', 422, read('/api/user/installations')],
  ['GET /api/user/repositories', 422, read('/api/user/repositories?page=0')],
  ['GET /api/user/search/repositories', 422, read('/api/user/search/repositories')],
  ['GET /api/user/repository/branches', 404, read(`${BRANCHES}?repository=acme/none`)],
  ['GET /api/user/repository/branches', 422, read(BRANCHES)],
  ['GET /api/user/search/branches', 404, read(`${SEARCH}?repository=acme/none&query=x`)],
  ['GET /api/user/search/branches', 422, read(SEARCH)],
  [MICROAGENTS, 404, read('/api/user/repository/acme%2Fnone/microagents')],
  [MICROAGENTS, 422, read(`/api/user/repository/${'x'.repeat(501)}/microagents`)],
  [`${MICROAGENTS}/content`, 404, read(`${APP}/microagents/content?file_path=none.md`)],
  [`${MICROAGENTS}/content`, 413, read(`${APP}/microagents/content?file_path=docs/large.md`)],
  [`${MICROAGENTS}/content`, 422, read(`${APP}/microagents/content`)],
  ['GET /api/conversations', 422, read('/api/conversations?limit=many')],
  ['GET /api/conversations/{id}/list-files', 422, read(`${IN}/list-files?path=%00`)],
  ['GET /api/conversations/{id}/select-file', 404, read(`${IN}/select-file?file=none.txt`)],
  ['GET /api/conversations/{id}/select-file', 413, read(`${IN}/select-file?file=large.txt`)],
  ['GET /api/conversations/{id}/select-file', 415, read(`${IN}/select-file?file=a.bin`)],
  ['GET /api/conversations/{id}/select-file', 422, read(`${IN}/select-file`)],
  ['GET /api/conversations/{id}/git/diff', 413, read(`${IN}/git/diff?path=large.txt`)],
  ['GET /api/conversations/{id}/git/diff', 415, read(`${IN}/git/diff?path=a.bin`)],
  ['GET /api/conversations/{id}/git/diff', 422, read(`${IN}/git/diff`)],
  ['GET /api/conversations/{id}/remember-prompt', 404, read(`${IN}/remember-prompt?event_id=99999`)],
  ['GET /api/conversations/{id}/remember-prompt', 422, read(`${IN}/remember-prompt`)],
  ['GET /api/conversations/{id}/events', 400, read(`${IN}/events?limit=101`)],
  ['GET /api/conversations/{id}/events', 422, read(`${IN}/events?limit=many`)],
  ['GET /api/conversations/{id}/events/stream', 422, read(`${IN}/events/stream?start_id=x`)],
  [
    'POST /api/conversations/{id}/events',
    409,
    post(`${IN}/events`, { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } }),
  ],
];

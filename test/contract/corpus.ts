/** A body and what becomes of it. */
export interface Case {
  is: string;
  /** A string is sent as it stands: it need not be JSON. */
  body: unknown;
  /** Every offending member, as `loc type`; a case without is accepted. */
  rejected?: readonly string[];
}

const accepted = (is: string, body: unknown): Case => ({ is, body });
const rejected = (is: string, body: unknown, ...members: string[]): Case => ({ is, body, rejected: members });

const BIG = 'x'.repeat(10_001);

/** Bodies that are refused by every operation. */
export const NO_BODIES: readonly Case[] = [
  rejected('no JSON', '{"a":', 'body json_invalid'),
  rejected('two values', '{}{}', 'body json_invalid'),
  rejected('a trailing comma', '{"a":1,}', 'body json_invalid'),
  rejected('NaN', '{"a":NaN}', 'body json_invalid'),
  rejected('nothing', '', 'body missing'),
  rejected('null', 'null', 'body missing'),
  rejected('an array', '[]', 'body wrong_type'),
  rejected('a string', '"text"', 'body wrong_type'),
  rejected('a number', '7', 'body wrong_type'),
  rejected('a prototype', '{"__proto__":{"agent":"x"}}', 'body.__proto__ extra_forbidden'),
  rejected('nested too deep', '['.repeat(5000) + ']'.repeat(5000), 'body json_invalid'),
];

const server = { url: 'https://mcp.example/sse' };
const program = { name: 'files', command: 'npx', args: ['-y', 'files'], env: { KEY: 'value' } };
const sse = (...sse_servers: unknown[]) => ({ mcp_config: { sse_servers } });
const stdio = (more: object) => ({ mcp_config: { stdio_servers: [{ ...program, ...more }] } });
const AT_SSE = 'body.mcp_config.sse_servers.0';
const AT_STDIO = 'body.mcp_config.stdio_servers.0';

/** Bodies with `mcp_config`, for each operation that takes it. */
export const MCP_CASES: readonly Case[] = [
  accepted('an empty MCP config', { mcp_config: {} }),
  accepted('null for an MCP config', { mcp_config: null }),
  accepted('empty lists', { mcp_config: { sse_servers: [], stdio_servers: [], shttp_servers: [] } }),
  accepted('null for a list', { mcp_config: { sse_servers: null } }),
  accepted('a server', sse(server)),
  accepted('a server with a key', sse({ ...server, api_key: 'key' })),
  accepted('a server with null for its key', sse({ ...server, api_key: null })),
  accepted('a bare URL', sse('http://mcp.example:8080/sse?x=1')),
  accepted('the same URL in two lists', { mcp_config: { sse_servers: [server], shttp_servers: [server] } }),
  accepted('a timeout of an hour', { mcp_config: { shttp_servers: [{ ...server, timeout: 3600 }] } }),
  accepted('a program', stdio({})),
  accepted('a program without args and env', {
    mcp_config: { stdio_servers: [{ name: 'a', command: 'b' }] },
  }),
  accepted('null for a variable', stdio({ env: { KEY: null } })),
  rejected('a string for an MCP config', { mcp_config: 'x' }, 'body.mcp_config wrong_type'),
  rejected(
    'an object for a list',
    { mcp_config: { sse_servers: {} } },
    'body.mcp_config.sse_servers wrong_type',
  ),
  rejected('a server without a URL', sse({}), `${AT_SSE}.url missing`),
  rejected('a number for a server', sse(7), `${AT_SSE} wrong_type`),
  rejected('a URL of another scheme', sse({ url: 'ftp://mcp.example' }), `${AT_SSE}.url not_valid`),
  rejected('a file', sse('file:///etc/passwd'), `${AT_SSE} not_valid`),
  rejected('a URL with a password', sse({ url: 'https://a:b@mcp.example' }), `${AT_SSE}.url not_valid`),
  rejected('a relative URL', sse('/sse'), `${AT_SSE} not_valid`),
  rejected('a number for a key', sse({ ...server, api_key: 7 }), `${AT_SSE}.api_key wrong_type`),
  rejected('a key of two lines', sse({ ...server, api_key: 'a\nb' }), `${AT_SSE}.api_key not_valid`),
  rejected('a timeout of 0', sse({ ...server, timeout: 0 }), `${AT_SSE}.timeout too_small`),
  rejected('a timeout over an hour', sse({ ...server, timeout: 3601 }), `${AT_SSE}.timeout too_big`),
  rejected('half a second', sse({ ...server, timeout: 0.5 }), `${AT_SSE}.timeout wrong_type`),
  rejected('the same URL twice', sse(server, server), 'body.mcp_config.sse_servers.1.url duplicate'),
  rejected(
    'a wrong server beside the same URL twice',
    sse(server, { url: 7 }, server),
    'body.mcp_config.sse_servers.1.url wrong_type',
    'body.mcp_config.sse_servers.2.url duplicate',
  ),
  rejected(
    'the same name twice',
    { mcp_config: { stdio_servers: [program, program] } },
    'body.mcp_config.stdio_servers.1.name duplicate',
  ),
  rejected('a name with a space', stdio({ name: 'a b' }), `${AT_STDIO}.name invalid_format`),
  rejected('an empty name', stdio({ name: '' }), `${AT_STDIO}.name invalid_format`),
  rejected('an empty command', stdio({ command: '' }), `${AT_STDIO}.command too_small`),
  rejected('no command', { mcp_config: { stdio_servers: [{ name: 'a' }] } }, `${AT_STDIO}.command missing`),
  rejected('a string for args', stdio({ args: '-y files' }), `${AT_STDIO}.args wrong_type`),
  rejected('a number in args', stdio({ args: ['-y', 7] }), `${AT_STDIO}.args.1 wrong_type`),
  rejected('a string for env', stdio({ env: 'A=1' }), `${AT_STDIO}.env wrong_type`),
  rejected('a number for a variable', stdio({ env: { A: 1 } }), `${AT_STDIO}.env.A wrong_type`),
  rejected('a variable named with a dash', stdio({ env: { 'A-B': 'x' } }), `${AT_STDIO}.env.A-B invalid_key`),
];

const secrets = (custom_secrets: unknown) => ({ secrets_store: { custom_secrets } });
const stored = (provider_tokens: unknown) => ({ secrets_store: { provider_tokens } });
const AT_SECRETS = 'body.secrets_store.custom_secrets';
const AT_TOKENS = 'body.secrets_store.provider_tokens';

const STRINGS = [
  'language',
  'llm_model',
  'sandbox_base_container_image',
  'sandbox_runtime_container_image',
  'email',
  'git_user_name',
  'git_user_email',
];
const KEYS = ['llm_api_key', 'search_api_key', 'sandbox_api_key'];
const CHOICES = ['agent', 'security_analyzer'];
const BOOLEANS = [
  'confirmation_mode',
  'enable_default_condenser',
  'enable_sound_notifications',
  'enable_proactive_conversation_starters',
  'enable_solvability_analysis',
  'user_consents_to_analytics',
  'email_verified',
];
const OTHERS = [
  'llm_base_url',
  'max_iterations',
  'max_budget_per_task',
  'remote_runtime_resource_factor',
  'mcp_config',
  'secrets_store',
];
/** The 25 members of the settings. */
export const SETTINGS_MEMBERS = [...STRINGS, ...KEYS, ...CHOICES, ...BOOLEANS, ...OTHERS];

export const SETTINGS_CASES: readonly Case[] = [
  accepted('an empty body', {}),
  accepted('unknown members', { bogus: 1, condenser_max_size: 120 }),
  ...SETTINGS_MEMBERS.map((name) => accepted(`null for ${name}`, { [name]: null })),
  ...[...STRINGS, ...KEYS, ...CHOICES, 'llm_base_url'].map((name) =>
    accepted(`"" for ${name}`, { [name]: '' }),
  ),
  ...STRINGS.map((name) => accepted(`a string for ${name}`, { [name]: 'some-text' })),
  ...STRINGS.map((name) => rejected(`a number for ${name}`, { [name]: 7 }, `body.${name} wrong_type`)),
  ...STRINGS.map((name) => rejected(`two lines for ${name}`, { [name]: 'a\nb' }, `body.${name} not_valid`)),
  ...STRINGS.map((name) =>
    rejected(`10,001 characters for ${name}`, { [name]: BIG }, `body.${name} too_big`),
  ),
  ...KEYS.map((name) => rejected(`an object for ${name}`, { [name]: {} }, `body.${name} wrong_type`)),
  ...BOOLEANS.map((name) => accepted(`true for ${name}`, { [name]: true })),
  ...BOOLEANS.map((name) => rejected(`"true" for ${name}`, { [name]: 'true' }, `body.${name} wrong_type`)),
  ...BOOLEANS.map((name) => rejected(`1 for ${name}`, { [name]: 1 }, `body.${name} wrong_type`)),
  accepted('an agent', { agent: 'DummyAgent' }),
  rejected('a retired agent', { agent: 'BrowsingAgent' }, 'body.agent not_allowed'),
  rejected('an agent in lower case', { agent: 'codeactagent' }, 'body.agent not_allowed'),
  rejected('a number for an agent', { agent: 7 }, 'body.agent not_allowed'),
  accepted('an analyzer', { security_analyzer: 'llm' }),
  rejected('a retired analyzer', { security_analyzer: 'invariant' }, 'body.security_analyzer not_allowed'),
  accepted('one step', { max_iterations: 1 }),
  rejected('no step', { max_iterations: 0 }, 'body.max_iterations too_small'),
  rejected('half a step', { max_iterations: 1.5 }, 'body.max_iterations wrong_type'),
  rejected('steps as a string', { max_iterations: '12' }, 'body.max_iterations wrong_type'),
  rejected('more steps than a number holds', { max_iterations: 2 ** 60 }, 'body.max_iterations too_big'),
  accepted('no budget', { max_budget_per_task: 0 }),
  accepted('a budget of cents', { max_budget_per_task: 0.05 }),
  rejected('a budget below zero', { max_budget_per_task: -1 }, 'body.max_budget_per_task too_small'),
  rejected('a budget as a string', { max_budget_per_task: '1' }, 'body.max_budget_per_task wrong_type'),
  ...[1, 2, 4, 8].map((n) => accepted(`a factor of ${n}`, { remote_runtime_resource_factor: n })),
  ...[0, 3, 16, '2', true].map((n) =>
    rejected(
      `a factor of ${JSON.stringify(n)}`,
      { remote_runtime_resource_factor: n },
      'body.remote_runtime_resource_factor not_allowed',
    ),
  ),
  accepted('a base URL', { llm_base_url: 'http://127.0.0.1:4000/v1' }),
  rejected('a base URL without a scheme', { llm_base_url: 'models.example' }, 'body.llm_base_url not_valid'),
  rejected('a script for a base URL', { llm_base_url: 'javascript:alert(1)' }, 'body.llm_base_url not_valid'),
  rejected(
    'a base URL with a name',
    { llm_base_url: 'https://ann@models.example' },
    'body.llm_base_url not_valid',
  ),
  rejected('a number for a base URL', { llm_base_url: 7 }, 'body.llm_base_url wrong_type'),
  accepted('a Tavily key', { search_api_key: 'tvly-key' }),
  rejected('another search key', { search_api_key: 'sk-key' }, 'body.search_api_key not_valid'),
  accepted('a model key of one character', { llm_api_key: 'x' }),
  rejected(
    'a model key that no header can carry',
    { llm_api_key: 'sk-\u{1f600}' },
    'body.llm_api_key invalid_format',
  ),
  rejected('a model key of two lines', { llm_api_key: 'a\nb' }, 'body.llm_api_key not_valid'),
  rejected('half a character', '{"llm_model":"\\ud800"}', 'body.llm_model not_valid'),
  rejected('NUL', { llm_model: 'a\0b' }, 'body.llm_model not_valid'),
  accepted('an empty secrets store', { secrets_store: {} }),
  accepted('null in a secrets store', { secrets_store: { provider_tokens: null, custom_secrets: null } }),
  rejected('a string for a secrets store', { secrets_store: '' }, 'body.secrets_store wrong_type'),
  accepted(
    'secrets in both forms',
    secrets({ A: 'long-enough', B: { secret: 'long-enough', description: 'b' } }),
  ),
  accepted('a secret of many lines', secrets({ SSH_KEY: '-----BEGIN\nKEY\n-----END' })),
  accepted('null for a secret', secrets({ A: null })),
  accepted('"" for a secret', secrets({ A: '' })),
  rejected('a short secret', secrets({ A: 'short' }), `${AT_SECRETS}.A not_valid`),
  rejected(
    'a short secret in its other form',
    secrets({ A: { secret: 'short' } }),
    `${AT_SECRETS}.A.secret not_valid`,
  ),
  rejected('a number for a secret', secrets({ A: 12345678 }), `${AT_SECRETS}.A wrong_type`),
  rejected('a name with a dash', secrets({ 'A-B': 'long-enough' }), `${AT_SECRETS}.A-B invalid_key`),
  rejected(
    'a name that begins with a digit',
    secrets({ '1A': 'long-enough' }),
    `${AT_SECRETS}.1A invalid_key`,
  ),
  rejected(
    'a description without a secret',
    secrets({ A: { description: 'x' } }),
    `${AT_SECRETS}.A.secret missing`,
  ),
  accepted(
    'tokens in both forms',
    stored({ github: 'token', gitlab: { token: 't', host: 'h', user_id: 'u' } }),
  ),
  accepted('null for a token', stored({ github: null })),
  rejected(
    'an unknown provider',
    stored({ sourceforge: 'token' }),
    `${AT_TOKENS}.sourceforge extra_forbidden`,
  ),
  rejected('an array of tokens', stored(['token']), `${AT_TOKENS} wrong_type`),
  rejected(
    'every offending member at once',
    { language: 7, max_iterations: 0, mcp_config: { sse_servers: [{}] }, agent: 'x' },
    'body.language wrong_type',
    'body.agent not_allowed',
    'body.max_iterations too_small',
    'body.mcp_config.sse_servers.0.url missing',
  ),
  ...MCP_CASES,
];

const tokens = (provider_tokens: unknown) => ({ provider_tokens });
const github = (github: unknown) => tokens({ github });
const AT_GITHUB = 'body.provider_tokens.github';

export const PROVIDER_CASES: readonly Case[] = [
  accepted('an empty body', {}),
  accepted('null for the tokens', tokens(null)),
  accepted('no tokens', tokens({})),
  accepted('unknown members', { bogus: 1 }),
  ...['github', 'gitlab', 'bitbucket', 'azure_devops', 'forgejo', 'enterprise_sso'].map((name) =>
    accepted(`a token of ${name}`, tokens({ [name]: { token: 'token' } })),
  ),
  accepted('a bare token', github('token')),
  accepted('all that a form sends', github({ token: '', host: '' })),
  accepted('null for an entry', github(null)),
  accepted('null for its members', github({ token: null, host: null, user_id: null })),
  accepted('an empty entry', github({})),
  accepted('unknown members of an entry', github({ token: 'token', scope: 'repo' })),
  accepted('a bare host', github({ token: 'token', host: 'ghe.example.com' })),
  accepted('a host with a port', github({ token: 'token', host: 'git.local:3001' })),
  accepted(
    'a host with scheme, port and path',
    github({ token: 'token', host: 'http://git.local:3001/forge' }),
  ),
  rejected(
    'an unknown provider',
    tokens({ sourceforge: 'token' }),
    'body.provider_tokens.sourceforge extra_forbidden',
  ),
  rejected(
    'a provider in capitals',
    tokens({ GitHub: 'token' }),
    'body.provider_tokens.GitHub extra_forbidden',
  ),
  rejected('a string for the tokens', tokens('token'), 'body.provider_tokens wrong_type'),
  rejected('an array for the tokens', tokens([]), 'body.provider_tokens wrong_type'),
  rejected('a number for an entry', github(7), `${AT_GITHUB} wrong_type`),
  rejected('an array for an entry', github(['token']), `${AT_GITHUB} wrong_type`),
  rejected('a number for a token', github({ token: 7 }), `${AT_GITHUB}.token wrong_type`),
  rejected('a token of two lines', github({ token: 'a\nb' }), `${AT_GITHUB}.token not_valid`),
  rejected('a bare token of two lines', github('a\r\nb'), `${AT_GITHUB} not_valid`),
  rejected('a token of 10,001 characters', github({ token: BIG }), `${AT_GITHUB}.token too_big`),
  rejected('a number for a host', github({ host: 7 }), `${AT_GITHUB}.host wrong_type`),
  ...[
    'ftp://git.local',
    'https://ann:pw@git.local',
    'git.local/..?x',
    'git.local:99999',
    'git local',
    'git.local#x',
    '999.1.1.1',
    'https://',
  ].map((host) =>
    rejected(`the host ${host}`, github({ token: 'token', host }), `${AT_GITHUB}.host not_valid`),
  ),
  ...MCP_CASES,
];

const task = {
  git_provider: 'github',
  task_type: 'MERGE_CONFLICTS',
  repo: 'acme/app',
  issue_number: 7,
  title: 'Mend it',
};
const suggested = (more: object) => ({ suggested_task: { ...task, ...more } });

export const CONVERSATION_CASES: readonly Case[] = [
  accepted('an empty body', {}),
  ...[
    'repository',
    'git_provider',
    'selected_branch',
    'initial_user_msg',
    'image_urls',
    'replay_json',
    'suggested_task',
    'create_microagent',
    'conversation_instructions',
    'conversation_id',
  ].map((name) => accepted(`null for ${name}`, { [name]: null })),
  ...[
    'repository',
    'git_provider',
    'selected_branch',
    'initial_user_msg',
    'replay_json',
    'conversation_instructions',
    'conversation_id',
  ].map((name) => accepted(`"" for ${name}`, { [name]: '' })),
  accepted('a repository', { repository: 'acme/app', git_provider: 'github', selected_branch: 'main' }),
  accepted('more levels', { repository: 'group/sub/app.js' }),
  ...['app', '/acme/app', 'acme/', 'acme/ap p', 'https://github.com/acme/app'].map((name) =>
    rejected(`the repository ${name}`, { repository: name }, 'body.repository invalid_format'),
  ),
  ...['acme/../app', './app'].map((name) =>
    rejected(`the repository ${name}`, { repository: name }, 'body.repository not_valid'),
  ),
  rejected('a number for a repository', { repository: 7 }, 'body.repository not_allowed'),
  rejected('an unknown provider', { git_provider: 'sourceforge' }, 'body.git_provider not_allowed'),
  ...['-x', 'a..b', 'a b', 'a~1', '/a', 'a/', 'a.lock', '@', 'a\nb'].map((name) =>
    rejected(
      `the branch ${JSON.stringify(name)}`,
      { selected_branch: name },
      ...(name === 'a\nb'
        ? ['body.selected_branch not_valid', 'body.selected_branch not_valid']
        : ['body.selected_branch not_valid']),
    ),
  ),
  accepted('a branch with slashes', { selected_branch: 'feature/new.thing_1' }),
  accepted('images', { image_urls: ['https://img.example/a.png', 'data:image/png;base64,AAAA'] }),
  rejected('an image over http', { image_urls: ['http://img.example/a.png'] }, 'body.image_urls.0 not_valid'),
  rejected('a page for an image', { image_urls: ['data:text/html,x'] }, 'body.image_urls.0 not_valid'),
  rejected(
    'a string for the images',
    { image_urls: 'https://img.example/a.png' },
    'body.image_urls wrong_type',
  ),
  ...[
    'MERGE_CONFLICTS',
    'FAILING_CHECKS',
    'UNRESOLVED_COMMENTS',
    'OPEN_ISSUE',
    'OPEN_PR',
    'CREATE_MICROAGENT',
  ].map((task_type) => accepted(`a task of type ${task_type}`, suggested({ task_type }))),
  rejected(
    'another type of task',
    suggested({ task_type: 'NOPE' }),
    'body.suggested_task.task_type not_allowed',
  ),
  ...Object.keys(task).map((name) =>
    rejected(
      `a task without ${name}`,
      { suggested_task: Object.fromEntries(Object.entries(task).filter(([key]) => key !== name)) },
      `body.suggested_task.${name} missing`,
    ),
  ),
  rejected(
    'an issue as a string',
    suggested({ issue_number: '7' }),
    'body.suggested_task.issue_number wrong_type',
  ),
  rejected('an unknown member of a task', suggested({ more: 1 }), 'body.suggested_task.more extra_forbidden'),
  ...['[]', '[{"action":"message"}]', '{"trajectory":[{"action":"message"}]}'].map((replay_json) =>
    accepted(`the replay ${replay_json}`, { replay_json, initial_user_msg: '', image_urls: [] }),
  ),
  ...['{', '{}', '1', '[1]', '[[]]', '{"trajectory":1}', 'null'].map((replay_json) =>
    rejected(`the replay ${replay_json}`, { replay_json }, 'body.replay_json not_valid'),
  ),
  rejected(
    'a replay beside a message, images and a task, with faults elsewhere',
    {
      replay_json: '[]',
      initial_user_msg: 'x',
      image_urls: [7],
      suggested_task: task,
      repository: 7,
      bogus: 1,
    },
    'body.repository not_allowed',
    'body.image_urls.0 wrong_type',
    'body.bogus extra_forbidden',
    'body.initial_user_msg not_valid',
    'body.image_urls not_valid',
    'body.suggested_task not_valid',
  ),
  accepted('a microagent', { create_microagent: { repo: 'acme/app' } }),
  accepted('a microagent with all', {
    create_microagent: { repo: 'a/b', git_provider: 'gitlab', title: 'x' },
  }),
  rejected(
    'a microagent without a repository',
    { create_microagent: {} },
    'body.create_microagent.repo missing',
  ),
  rejected(
    'an unknown member of a microagent',
    { create_microagent: { repo: 'a/b', name: 'x' } },
    'body.create_microagent.name extra_forbidden',
  ),
  accepted('"" for what a microagent may leave out', {
    create_microagent: { repo: 'a/b', git_provider: '', title: '' },
  }),
  rejected(
    'unknown members of an MCP config',
    {
      mcp_config: {
        bogus: 1,
        sse_servers: [{ ...server, more: 1 }],
        stdio_servers: [{ ...program, more: 1 }],
      },
    },
    `${AT_SSE}.more extra_forbidden`,
    `${AT_STDIO}.more extra_forbidden`,
    'body.mcp_config.bogus extra_forbidden',
  ),
  accepted('an id', { conversation_id: 'My_conversation-1' }),
  ...['a/b', 'a b', '../a', 'x'.repeat(101)].map((id) =>
    rejected(`the id ${id.slice(0, 10)}`, { conversation_id: id }, 'body.conversation_id invalid_format'),
  ),
  rejected('an unknown member', { bogus: 1 }, 'body.bogus extra_forbidden'),
  rejected('two unknown members', { a: 1, b: 2 }, 'body.a extra_forbidden', 'body.b extra_forbidden'),
  rejected('a number for the message', { initial_user_msg: 7 }, 'body.initial_user_msg wrong_type'),
  ...MCP_CASES,
];

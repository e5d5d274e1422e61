/** A settings body with all of its 25 members given, as a user with some servers, tokens and secrets sends it. */
const FIRST = {
  language: 'en',
  agent: 'CodeActAgent',
  max_iterations: 250,
  security_analyzer: 'rules',
  confirmation_mode: false,
  llm_model: 'openai/gpt-5.1',
  llm_api_key: 'sk-0123456789abcdef0123456789abcdef',
  llm_base_url: 'https://models.example.com/v1',
  remote_runtime_resource_factor: 2,
  secrets_store: {
    provider_tokens: {
      github: { token: 'ghp_0123456789abcdef0123456789abcdef', host: 'github.example.com', user_id: '4711' },
      gitlab: { token: 'glpat-0123456789abcdef0123' },
    },
    custom_secrets: {
      NPM_TOKEN: { secret: 'npm_0123456789abcdef0123456789', description: 'Publishes the packages' },
      DEPLOY_KEY: { secret: 'deploy-0123456789abcdef', description: 'Deploys to staging' },
    },
  },
  enable_default_condenser: true,
  enable_sound_notifications: false,
  enable_proactive_conversation_starters: true,
  enable_solvability_analysis: true,
  user_consents_to_analytics: false,
  sandbox_base_container_image: 'debian:bookworm',
  sandbox_runtime_container_image: '',
  mcp_config: {
    sse_servers: [{ url: 'https://mcp.example.com/sse', api_key: 'mcp-0123456789abcdef' }],
    stdio_servers: [
      { name: 'files', command: 'npx', args: ['-y', 'mcp-files'], env: { FILES_TOKEN: 'files-0123456789' } },
    ],
    shttp_servers: [{ url: 'https://mcp.example.com/mcp', api_key: 'mcp-fedcba9876543210' }],
  },
  search_api_key: 'tvly-0123456789abcdef',
  sandbox_api_key: 'sandbox-0123456789abcdef',
  max_budget_per_task: 12.5,
  email: 'ann@example.com',
  email_verified: true,
  git_user_name: 'Ann Example',
  git_user_email: 'ann@example.com',
};

/** How many different bodies there are, and how many of them send all secrets: programs do, each time they start. */
const BODIES = 128;
const EACH_WITH_SECRETS = 4;

/**
 * Bodies that are sent in turn: each changes some plain members. A page sends back what it has read, where secrets are
 * null; every fourth comes from a program that sends its secrets again; and in one of all the model's key is another.
 */
export const SETTINGS_BODIES: readonly unknown[] = Array.from({ length: BODIES }, (_, n) => {
  const plain = { ...FIRST, max_iterations: 100 + n, confirmation_mode: n % 2 === 0, max_budget_per_task: n };
  if (n % EACH_WITH_SECRETS !== 0) return fromPage(plain);
  return n === 0 ? { ...plain, llm_api_key: 'sk-fedcba9876543210fedcba9876543210' } : plain;
});

function fromPage({ secrets_store, mcp_config, ...plain }: typeof FIRST) {
  const withoutKey = ({ url }: { url: string }) => ({ url, api_key: null });
  return {
    ...plain,
    llm_api_key: null,
    search_api_key: null,
    sandbox_api_key: null,
    secrets_store: {
      provider_tokens: allNull(secrets_store.provider_tokens),
      custom_secrets: allNull(secrets_store.custom_secrets),
    },
    mcp_config: {
      sse_servers: mcp_config.sse_servers.map(withoutKey),
      stdio_servers: mcp_config.stdio_servers.map((server) => ({ ...server, env: allNull(server.env) })),
      shttp_servers: mcp_config.shttp_servers.map(withoutKey),
    },
  };
}

function allNull(members: object) {
  return Object.fromEntries(Object.keys(members).map((name) => [name, null]));
}

/** New conversations as pages and programs ask for them, without a repository. */
export const CONVERSATION_BODIES: readonly unknown[] = Array.from({ length: BODIES }, (_, n) => ({
  initial_user_msg: `Look into issue ${n}: the tests of the parser fail on an empty line, see the log of the last run.`,
  repository: null,
  git_provider: null,
  selected_branch: null,
  image_urls: [],
  conversation_instructions: 'Answer in few words, and run the tests before you say that you are done.',
}));

/** A token for the git host that answers there. */
export function providerBodies(host: string): readonly unknown[] {
  return Array.from({ length: BODIES }, (_, n) => ({
    provider_tokens: { github: { token: `ghp_0123456789abcdef0123456789ab${n}`, host } },
  }));
}

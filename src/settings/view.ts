import type { McpConfigView } from '../contract/mcp.ts';
import { SETTINGS_DEFAULTS, type SettingsView } from '../contract/settings.ts';
import type { HttpServerEntry, McpDocument, PlainMembers, SettingsDocument } from './document.ts';
import type { BoundSecret } from './store.ts';

/** The settings as their user reads them back: every member, each secret null. */
export function viewOf(
  { mcp, tokens, customSecrets }: SettingsDocument,
  members: PlainMembers,
  secrets: Readonly<Record<string, BoundSecret>>,
): SettingsView {
  const has = (path: string) => Object.hasOwn(secrets, path);
  const entries = Object.entries(tokens);
  return {
    ...UNSET,
    ...members,
    llm_api_key: null,
    search_api_key: null,
    sandbox_api_key: null,
    mcp_config: mcp && mcpView(mcp),
    secrets_store: {
      provider_tokens: Object.fromEntries(entries.map(([provider]) => [provider, null])),
      custom_secrets: Object.fromEntries(customSecrets.map(({ name }) => [name, null])),
    },
    provider_tokens_set: Object.fromEntries(
      entries.filter(([, entry]) => !entry.tokenless).map(([provider, { host }]) => [provider, host || null]),
    ),
    llm_api_key_set: has('llm_api_key'),
    search_api_key_set: has('search_api_key'),
    sandbox_api_key_set: has('sandbox_api_key'),
  };
}

const UNSET: { [Name in keyof Required<PlainMembers>]: SettingsView[Name] } = {
  language: null,
  agent: null,
  max_iterations: null,
  security_analyzer: null,
  confirmation_mode: null,
  llm_model: null,
  llm_base_url: null,
  remote_runtime_resource_factor: null,
  ...SETTINGS_DEFAULTS,
  user_consents_to_analytics: null,
  sandbox_base_container_image: null,
  sandbox_runtime_container_image: null,
  max_budget_per_task: null,
  email: null,
  email_verified: null,
  git_user_name: null,
  git_user_email: null,
};

function mcpView({ sse_servers, stdio_servers, shttp_servers }: McpDocument): McpConfigView {
  return {
    sse_servers: sse_servers.map(httpView),
    stdio_servers: stdio_servers.map(({ name, command, args, env }) => ({
      name,
      command,
      args,
      env: Object.fromEntries(env.map((variable) => [variable, null])),
    })),
    shttp_servers: shttp_servers.map(httpView),
  };
}

function httpView({ url, timeout }: HttpServerEntry): McpConfigView['sse_servers'][number] {
  return { url, api_key: null, ...(timeout === undefined ? {} : { timeout }) };
}

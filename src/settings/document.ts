import type { ProviderName } from '../contract/providers.ts';
import type { SettingsPatch } from '../contract/settings.ts';

/** The members that hold no secret: stored as they were given. */
export type PlainMember = Exclude<
  keyof SettingsPatch,
  'llm_api_key' | 'search_api_key' | 'sandbox_api_key' | 'mcp_config' | 'secrets_store'
>;

/** Those that are set. */
export type PlainMembers = { [Name in PlainMember]?: NonNullable<SettingsPatch[Name]> };

export interface HttpServerEntry {
  url: string;
  timeout?: number;
}

export interface StdioServerEntry {
  name: string;
  command: string;
  args: string[];
  /** The variables that have a value. */
  env: string[];
}

export interface McpDocument {
  sse_servers: HttpServerEntry[];
  stdio_servers: StdioServerEntry[];
  shttp_servers: HttpServerEntry[];
}

export interface TokenEntry {
  /** As it was given; "" for the provider's own. */
  host: string;
  userId: string | null;
  status: 'verified' | 'unverified';
  /** Whose token it is, where the provider said so. */
  login: string | null;
  /** The host stands here by itself, for what is public there. */
  tokenless?: true;
}

/**
 * What is stored of one user but for the secrets, which stand beside it by their path. No interface: the store takes
 * any record, and only of a type that is closed is it known that it is one.
 */
export type SettingsDocument = {
  /** Null until settings are first stored: tokens and custom secrets may come before. */
  members: PlainMembers | null;
  mcp: McpDocument | null;
  tokens: Partial<Record<ProviderName, TokenEntry>>;
  /** Sorted by name. */
  customSecrets: readonly { name: string; description: string }[];
};

export const EMPTY_DOCUMENT: SettingsDocument = { members: null, mcp: null, tokens: {}, customSecrets: [] };

/** Where secrets stand. Each is sealed for its path: one moved to another no longer opens. */
export const SECRET_PATHS = {
  httpServer: (list: 'sse_servers' | 'shttp_servers', url: string) => `mcp_config.${list}.${url}`,
  stdioServer: (name: string, variable: string) => `mcp_config.stdio_servers.${name}.${variable}`,
  token: (provider: ProviderName) => `secrets_store.provider_tokens.${provider}`,
  custom: (name: string) => `secrets_store.custom_secrets.${name}`,
} as const;

import { PROVIDERS, type ProviderName } from '../contract/providers.ts';
import { type AGENTS, type AnalyzerName, SETTINGS_DEFAULTS } from '../contract/settings.ts';
import { providerDestination } from '../git/provider-address.ts';
import type { McpServer } from '../mcp/server.ts';
import type { ModelSettings } from '../model/resolve.ts';
import type { Secret } from '../secrets/secret.ts';
import { modelKeyDestination, SEARCH_DESTINATION } from './destinations.ts';
import { mcpServersOf } from './mcp-servers.ts';
import { type PlainMembers, SECRET_PATHS, type SettingsDocument } from './document.ts';
import type { UserSeals } from './seals.ts';
import type { BoundSecret } from './store.ts';

/** A token that may be sent to its provider at its host, and nowhere else. */
export interface RunToken {
  provider: ProviderName;
  /** As it was stored; "" for the provider's own host. See `providerBase`. */
  host: string;
  /** Whose token it is, where the provider said so. */
  login: string | null;
  token: Secret;
}

/** The settings of one user as a run needs them, defaults filled in and secrets open: taken once, when it begins. */
export interface RunSettings {
  agent: (typeof AGENTS)[number];
  /** BCP 47 tag; "" for the user's own words. */
  language: string;
  maxIterations: number;
  /** US dollars; null for no limit. */
  maxBudget: number | null;
  /** Whether the model sums up what no longer fits its window. */
  condenser: boolean;
  /** Whether actions wait for their user; see `src/security/confirmation.ts`. */
  confirmationMode: boolean;
  /** Who rates the actions; null for nobody. */
  securityAnalyzer: AnalyzerName | null;
  /** Null when none is configured. */
  model: ModelSettings | null;
  /** For searching the web; null where there is none. */
  searchKey: Secret | null;
  /** Those of the user; a conversation may have its own beside them. */
  mcpServers: readonly McpServer[];
  /** By the name of their variable in the shell. */
  customSecrets: Readonly<Record<string, { secret: Secret; description: string }>>;
  tokens: readonly RunToken[];
  /** Of each provider that something is stored for, its host: "" for the provider's own. See `providerBase`. */
  providerHosts: Partial<Record<ProviderName, string>>;
  /** Author and committer of what the agent commits. */
  identity: { name: string; email: string };
  /** Whether a conversation from an issue begins with an estimate of it. */
  solvabilityAnalysis: boolean;
  /** Multiplies the limits of the sandbox: 1, 2, 4 or 8. */
  resourceFactor: number;
  /** Whether anything may be told of the user's runs. */
  consentsToAnalytics: boolean;
  /** All that must never be seen in an event, an answer or a log. */
  liveSecrets: readonly Secret[];
}

/** V0's limit for users who set none. */
const DEFAULT_MAX_ITERATIONS = 500;
const DEFAULT_IDENTITY = { name: 'Parley', email: 'parley@localhost' };

/**
 * Opens what is stored for a run. A secret goes along only to where it is bound: a document that says otherwise was not
 * written by us.
 */
export function runSettingsOf(
  { members, mcp, tokens, customSecrets }: SettingsDocument,
  secrets: Readonly<Record<string, BoundSecret>>,
  seals: UserSeals,
): RunSettings {
  const open = new Map(Object.entries(secrets).map(([path, bound]) => [path, seals.open(path, bound)]));
  const set = members ?? {};
  return {
    agent: set.agent || 'CodeActAgent',
    language: set.language ?? '',
    maxIterations: set.max_iterations ?? DEFAULT_MAX_ITERATIONS,
    maxBudget: set.max_budget_per_task || null,
    condenser: set.enable_default_condenser ?? SETTINGS_DEFAULTS.enable_default_condenser,
    confirmationMode: set.confirmation_mode ?? false,
    securityAnalyzer: set.security_analyzer || null,
    model: modelOf(set, secrets['llm_api_key'], open.get('llm_api_key')),
    searchKey:
      secrets['search_api_key']?.destination === SEARCH_DESTINATION
        ? (open.get('search_api_key') ?? null)
        : null,
    mcpServers: mcpServersOf(mcp, secrets, open),
    customSecrets: Object.fromEntries(
      customSecrets.flatMap(({ name, description }) => {
        const secret = open.get(SECRET_PATHS.custom(name));
        return secret ? [[name, { secret, description }]] : [];
      }),
    ),
    tokens: openTokens(tokens, secrets, (path) => open.get(path)),
    providerHosts: Object.fromEntries(Object.entries(tokens).map(([provider, { host }]) => [provider, host])),
    identity: identityOf(set),
    solvabilityAnalysis: set.enable_solvability_analysis ?? true,
    resourceFactor: set.remote_runtime_resource_factor ?? 1,
    consentsToAnalytics: set.user_consents_to_analytics === true,
    liveSecrets: [...open.values()],
  };
}

/** What git providers are asked with for a user, beside any run. */
export interface GitAccess {
  tokens: readonly RunToken[];
  /** Whether the user wants to be offered what there is to do there. */
  suggestsTasks: boolean;
}

/** As {@link runSettingsOf}, with no other secret opened. */
export function gitAccessOf(
  { members, tokens }: SettingsDocument,
  secrets: Readonly<Record<string, BoundSecret>>,
  seals: UserSeals,
): GitAccess {
  const open = (path: string): Secret | undefined => {
    const bound = secrets[path];
    return bound && seals.open(path, bound);
  };
  return {
    tokens: openTokens(tokens, secrets, open),
    suggestsTasks: members?.enable_proactive_conversation_starters ?? true,
  };
}

/** Those that go where they are bound. */
function openTokens(
  tokens: SettingsDocument['tokens'],
  secrets: Readonly<Record<string, BoundSecret>>,
  open: (path: string) => Secret | undefined,
): RunToken[] {
  return PROVIDERS.flatMap((provider) => {
    const entry = tokens[provider];
    const path = SECRET_PATHS.token(provider);
    const goesThere = entry && secrets[path]?.destination === providerDestination(provider, entry.host);
    const token = goesThere ? open(path) : undefined;
    return entry && token ? [{ provider, host: entry.host, login: entry.login, token }] : [];
  });
}

/** The key goes along only to where it is bound. */
function modelOf(
  set: PlainMembers,
  bound: BoundSecret | undefined,
  key: Secret | undefined,
): ModelSettings | null {
  if (!set.llm_model) return null;
  const goesThere = bound?.destination === modelKeyDestination(set);
  return {
    name: set.llm_model,
    baseUrl: set.llm_base_url || null,
    apiKey: key && goesThere ? key : null,
  };
}

/** Git's own members first; else a verified address of the user's. */
function identityOf(set: PlainMembers): RunSettings['identity'] {
  const verified = set.email_verified === true ? set.email : undefined;
  const email = set.git_user_email ?? verified ?? DEFAULT_IDENTITY.email;
  const name = set.git_user_name ?? verified?.split('@', 1)[0] ?? DEFAULT_IDENTITY.name;
  return { name, email };
}

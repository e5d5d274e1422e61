import { z } from 'zod';
import { mcpConfig, mcpConfigView } from './mcp.ts';
import { providerTokens } from './providers.ts';
import { cleared, httpUrl, line, secretLine, secretText, text, variableName } from './text.ts';
import { SHORTEST } from '../secrets/encodings.ts';
import type { Secret } from '../secrets/secret.ts';

export const AGENTS = ['CodeActAgent', 'DummyAgent', 'ReadOnlyAgent'] as const;
export type AgentName = (typeof AGENTS)[number];
export const SECURITY_ANALYZERS = ['llm', 'rules'] as const;
export type AnalyzerName = (typeof SECURITY_ANALYZERS)[number];

/** A name of a fixed set, or `""`; a name that only V0 had is told what there is instead. */
function named<const T extends readonly [string, ...string[]]>(
  names: T,
  retired: Readonly<Record<string, string>>,
) {
  return z.union([z.enum(names), cleared], {
    error: ({ input }) =>
      typeof input === 'string' && Object.hasOwn(retired, input)
        ? `${input} is retired: ${retired[input]}`
        : `must be one of ${names.join(', ')}`,
  });
}

const longEnough = (value: Secret): boolean => {
  const { length } = value.unwrap();
  return length === 0 || length >= SHORTEST;
};
export const secretValue = secretText().refine(
  longEnough,
  `must be at least ${SHORTEST} characters long: a shorter value could not be hidden in what the agent prints`,
);

/** `"VALUE"`, or `{secret, description}`. */
const customSecret = z.union([
  z.object({ secret: secretValue.nullish(), description: text(2_000).nullish() }),
  secretValue,
]);
export type CustomSecret = z.output<typeof customSecret>;

const secretsStore = z.object({
  provider_tokens: providerTokens.nullish(),
  custom_secrets: z.record(variableName(), customSecret.nullable()).nullish(),
});

/**
 * The 25 members of the settings, the one list of them: validation, types, defaults, OpenAPI and docs come from
 * here. Omitted keeps what is stored (but for the four with a default), null clears, a value sets; a secret is
 * kept by null and cleared by `""`.
 */
export const settingsMembers = {
  language: line(35).nullish().describe('The language the agent answers in: a BCP 47 tag.'),
  agent: named(AGENTS, {
    BrowsingAgent: 'use CodeActAgent',
    VisualBrowsingAgent: 'use CodeActAgent',
    LocAgent: 'use ReadOnlyAgent or CodeActAgent',
  })
    .nullish()
    .describe('Who does the work.'),
  max_iterations: z.int().min(1).nullish().describe('Steps allowed before the agent stops and asks.'),
  security_analyzer: named(SECURITY_ANALYZERS, { invariant: 'use rules', grayswan: 'use llm or rules' })
    .nullish()
    .describe('Who rates the risk of an action in confirmation mode; "" or null: nobody.'),
  confirmation_mode: z.boolean().nullish().describe('Risky actions wait for the user.'),
  llm_model: line(255).nullish().describe('provider/model, or a bare name with llm_base_url.'),
  llm_api_key: secretLine()
    .nullish()
    .describe('Goes to the origin of llm_base_url, or to the provider in llm_model.'),
  llm_base_url: z
    .union([httpUrl(), cleared])
    .nullish()
    .describe('The address of an OpenAI-compatible server.'),
  remote_runtime_resource_factor: z
    .union([z.literal(1), z.literal(2), z.literal(4), z.literal(8)], { error: 'must be 1, 2, 4 or 8' })
    .nullish()
    .describe("Multiplies the sandbox's CPU and memory."),
  secrets_store: secretsStore
    .nullish()
    .describe('Provider tokens and custom secrets, merged entry by entry.'),
  enable_default_condenser: z.boolean().nullish().describe('Summarise old history instead of dropping it.'),
  enable_sound_notifications: z.boolean().nullish().describe('The page plays a sound.'),
  enable_proactive_conversation_starters: z
    .boolean()
    .nullish()
    .describe('Offer tasks found at the providers.'),
  enable_solvability_analysis: z.boolean().nullish().describe('Judge an issue before working on it.'),
  user_consents_to_analytics: z.boolean().nullish().describe('Nothing is sent unless this is true.'),
  sandbox_base_container_image: line(500).nullish().describe('Image a container sandbox is built from.'),
  sandbox_runtime_container_image: line(500).nullish().describe('Ready image of a container sandbox; wins.'),
  mcp_config: mcpConfig.nullish().describe('MCP servers whose tools the agent gets.'),
  search_api_key: secretLine()
    .refine(
      (key) => key.unwrap() === '' || key.unwrap().startsWith('tvly-'),
      'must be a Tavily key: it begins with tvly-',
    )
    .nullish()
    .describe('Key of the web search (Tavily).'),
  sandbox_api_key: secretLine().nullish().describe('Key of a remote sandbox host.'),
  max_budget_per_task: z
    .number()
    .min(0)
    .nullish()
    .describe('US dollars a conversation may cost; 0 for no limit.'),
  email: line(320).nullish().describe("The user's address."),
  email_verified: z.boolean().nullish().describe('Only a verified address is used as commit identity.'),
  git_user_name: line(255).nullish().describe('Author name of commits.'),
  git_user_email: line(320).nullish().describe('Author address of commits.'),
} as const;

/** What a member is when it is omitted or null in a POST. All others then have no default: they stay, or are unset. */
export const SETTINGS_DEFAULTS = {
  enable_default_condenser: true,
  enable_sound_notifications: false,
  enable_proactive_conversation_starters: true,
  enable_solvability_analysis: true,
} as const;

/** Body of `PATCH /api/settings`: it changes only what it names. Unknown members are dropped and named in the reply. */
export const settingsPatch = z.object(settingsMembers);
export type SettingsPatch = z.output<typeof settingsPatch>;

/** Body of `POST /api/settings`: the same, with the four defaults. */
export const settingsBody = z.object({
  ...settingsMembers,
  enable_default_condenser: settingsMembers.enable_default_condenser.default(
    SETTINGS_DEFAULTS.enable_default_condenser,
  ),
  enable_sound_notifications: settingsMembers.enable_sound_notifications.default(
    SETTINGS_DEFAULTS.enable_sound_notifications,
  ),
  enable_proactive_conversation_starters: settingsMembers.enable_proactive_conversation_starters.default(
    SETTINGS_DEFAULTS.enable_proactive_conversation_starters,
  ),
  enable_solvability_analysis: settingsMembers.enable_solvability_analysis.default(
    SETTINGS_DEFAULTS.enable_solvability_analysis,
  ),
});
export type SettingsBody = z.output<typeof settingsBody>;

export const settingsReply = z.object({
  message: z.literal('Settings stored'),
  ignored: z.array(z.string()).optional().describe('Members of the request that are not known.'),
});

/** What GET adds to the members. A client that posts it back is not told that it was ignored. */
export const READ_ONLY_MEMBERS = [
  'provider_tokens_set',
  'llm_api_key_set',
  'search_api_key_set',
  'sandbox_api_key_set',
] as const;

const setFlag = z.boolean().describe('Whether such a key is stored.');

/** Answer of `GET /api/settings`: every member, each secret null. */
export const settingsView = z.object({
  language: z.string().nullable(),
  agent: z.string().nullable(),
  max_iterations: z.number().nullable(),
  security_analyzer: z.string().nullable(),
  confirmation_mode: z.boolean().nullable(),
  llm_model: z.string().nullable(),
  llm_api_key: z.null(),
  llm_base_url: z.string().nullable(),
  remote_runtime_resource_factor: z.number().nullable(),
  secrets_store: z.object({
    provider_tokens: z.record(z.string(), z.null()),
    custom_secrets: z.record(z.string(), z.null()),
  }),
  enable_default_condenser: z.boolean(),
  enable_sound_notifications: z.boolean(),
  enable_proactive_conversation_starters: z.boolean(),
  enable_solvability_analysis: z.boolean(),
  user_consents_to_analytics: z.boolean().nullable(),
  sandbox_base_container_image: z.string().nullable(),
  sandbox_runtime_container_image: z.string().nullable(),
  mcp_config: mcpConfigView.nullable(),
  search_api_key: z.null(),
  sandbox_api_key: z.null(),
  max_budget_per_task: z.number().nullable(),
  email: z.string().nullable(),
  email_verified: z.boolean().nullable(),
  git_user_name: z.string().nullable(),
  git_user_email: z.string().nullable(),
  provider_tokens_set: z.record(z.string(), z.string().nullable()).describe('Provider → stored host.'),
  llm_api_key_set: setFlag,
  search_api_key_set: setFlag,
  sandbox_api_key_set: setFlag,
});
export type SettingsView = z.output<typeof settingsView>;

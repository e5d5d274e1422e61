import { z } from 'zod';

// The same checks as Parley makes, in the same number; what they say of a body that fails them is not.

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes('\0') && value.isWellFormed());
const line = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed() && !CONTROL.test(value));
const url = line(2_000).refine((value) => {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '';
});
const HOST = /^(https?:\/\/)?[A-Za-z0-9._-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~/-]*)?$/;
const host = line(500).refine(
  (value) => value === '' || (HOST.test(value) && URL.canParse(`https://${value}`)),
);
const name = z
  .string()
  .max(255)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/);
const secret = text(10_000).refine((value) => value === '' || value.length >= 8);
const flag = z.boolean().nullish();

const areUnique = (names: readonly string[]) => new Set(names).size === names.length;
const httpServers = z
  .array(
    z.object({ url, api_key: line(10_000).nullish(), timeout: z.int().min(1).max(3600).nullish() }).or(url),
  )
  .max(100)
  .refine((servers) =>
    areUnique(servers.map((server) => (typeof server === 'string' ? server : server.url))),
  );
const stdioServers = z
  .array(
    z.object({
      name: line(255).regex(/^[A-Za-z0-9_-]+$/),
      command: line(1_000).min(1),
      args: z.array(text(10_000)).max(200).nullish(),
      env: z.record(name, text(10_000).nullable()).nullish(),
    }),
  )
  .max(100)
  .refine((servers) => areUnique(servers.map((server) => server.name)));

const mcpConfig = z.object({
  sse_servers: httpServers.nullish(),
  stdio_servers: stdioServers.nullish(),
  shttp_servers: httpServers.nullish(),
});
const provider = z.enum(['github', 'gitlab', 'bitbucket', 'azure_devops', 'forgejo', 'enterprise_sso']);
const providerTokens = z.partialRecord(
  provider,
  z
    .object({ token: line(10_000).nullish(), host: host.nullish(), user_id: line(255).nullish() })
    .or(line(10_000))
    .nullable(),
);

/** The 25 settings. */
export const settings = z.object({
  language: line(35).nullish(),
  agent: z.enum(['CodeActAgent', 'DummyAgent', 'ReadOnlyAgent', '']).nullish(),
  max_iterations: z.int().min(1).nullish(),
  security_analyzer: z.enum(['llm', 'rules', '']).nullish(),
  confirmation_mode: flag,
  llm_model: line(255).nullish(),
  llm_api_key: line(10_000).nullish(),
  llm_base_url: z.union([url, z.literal('')]).nullish(),
  remote_runtime_resource_factor: z.union([z.literal(1), z.literal(2), z.literal(4), z.literal(8)]).nullish(),
  secrets_store: z
    .object({
      provider_tokens: providerTokens.nullish(),
      custom_secrets: z
        .record(
          name,
          z
            .object({ secret: secret.nullish(), description: text(2_000).nullish() })
            .or(secret)
            .nullable(),
        )
        .nullish(),
    })
    .nullish(),
  enable_default_condenser: z.boolean().nullish().default(true),
  enable_sound_notifications: z.boolean().nullish().default(false),
  enable_proactive_conversation_starters: z.boolean().nullish().default(true),
  enable_solvability_analysis: z.boolean().nullish().default(true),
  user_consents_to_analytics: flag,
  sandbox_base_container_image: line(500).nullish(),
  sandbox_runtime_container_image: line(500).nullish(),
  mcp_config: mcpConfig.nullish(),
  search_api_key: line(10_000)
    .refine((key) => key === '' || key.startsWith('tvly-'))
    .nullish(),
  sandbox_api_key: line(10_000).nullish(),
  max_budget_per_task: z.number().min(0).nullish(),
  email: line(320).nullish(),
  email_verified: flag,
  git_user_name: line(255).nullish(),
  git_user_email: line(320).nullish(),
});

/** Tokens of git providers. */
export const providers = z.object({
  mcp_config: mcpConfig.nullish(),
  provider_tokens: providerTokens.nullish(),
});

const repository = line(500)
  .regex(/^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)+$/)
  .refine((value) => !value.split('/').some((part) => part === '.' || part === '..'));
const image = text(32_000_000).refine(
  (value) => value.startsWith('data:image/') || (value.startsWith('https://') && URL.canParse(value)),
);

/** The 11 members of a new conversation. */
export const conversation = z.strictObject({
  repository: z.union([repository, z.literal('')]).nullish(),
  git_provider: z.union([provider, z.literal('')]).nullish(),
  selected_branch: line(255)
    .refine((value) => !/^-|\.$|[ ~^:?*[\\]|\.\.|@\{/.test(value))
    .nullish(),
  initial_user_msg: text(32_000_000).nullish(),
  image_urls: z.array(image).max(100).nullish(),
  replay_json: text(32_000_000).nullish(),
  suggested_task: z
    .strictObject({
      git_provider: provider,
      task_type: z.string(),
      repo: repository,
      issue_number: z.int().min(1),
      title: line(1_000),
    })
    .nullish(),
  create_microagent: z
    .strictObject({ repo: repository, git_provider: provider.nullish(), title: line(1_000).nullish() })
    .nullish(),
  conversation_instructions: text(200_000).nullish(),
  mcp_config: mcpConfig.nullish(),
  conversation_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{0,100}$/)
    .nullish(),
});

import { z } from 'zod';
import { strictMcpConfig } from './mcp.ts';
import { PROVIDERS, providerName } from './providers.ts';
import { cleared, line, text } from './text.ts';

export const TASK_TYPES = [
  'MERGE_CONFLICTS',
  'FAILING_CHECKS',
  'UNRESOLVED_COMMENTS',
  'OPEN_ISSUE',
  'OPEN_PR',
  'CREATE_MICROAGENT',
] as const;

/** The largest body of the routes that take images or replays. */
export const LARGE_BODY = 32 * 1024 * 1024;

const repository = line(500)
  .regex(
    /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)+$/,
    'must be owner/name (letters, digits, ".", "_", "-"; more levels allowed)',
  )
  .refine(
    (value) => !value.split('/').some((part) => part === '.' || part === '..'),
    'must not have a part "." or ".."',
  );

/** What git-check-ref-format forbids anywhere in a name: space, the characters of its syntax, control characters. */
// oxlint-disable-next-line no-control-regex -- git forbids control characters in a branch name
const NOT_IN_BRANCH = /[\u0000- ~^:?*[\\\u007f]|\.\.|@\{/;

/** Whether git takes it for a branch name (git-check-ref-format), so that it can never be read as an option or a path. */
function isBranchName(value: string): boolean {
  if (value === '@' || value.startsWith('-') || value.endsWith('.') || NOT_IN_BRANCH.test(value))
    return false;
  return value.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

const branch = line(255).refine(
  (value) => value === '' || isBranchName(value),
  'must be a branch name that git accepts',
);

export const imageUrl = text(LARGE_BODY).refine(
  (value) => value.startsWith('data:image/') || (value.startsWith('https://') && URL.canParse(value)),
  'must be an https: or data:image/ URL',
);

export const suggestedTask = z.strictObject({
  git_provider: providerName,
  task_type: z.enum(TASK_TYPES),
  repo: repository,
  issue_number: z.int().min(1),
  title: line(1_000),
});
export type SuggestedTask = z.output<typeof suggestedTask>;

/** `""` is "not given", as null is. */
const maybeProvider = z
  .union([providerName, cleared], { error: `must be one of ${PROVIDERS.join(', ')}` })
  .nullish();

export const createMicroagent = z.strictObject({
  repo: repository,
  git_provider: maybeProvider,
  title: line(1_000).nullish(),
});

export const conversationId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be 1 to 100 letters, digits, "_" or "-"');

/** A JSON array of events, or an object with such an array as `trajectory`. */
function isReplay(text: string): boolean {
  try {
    const parsed: unknown = JSON.parse(text);
    const events =
      typeof parsed === 'object' && parsed !== null && 'trajectory' in parsed ? parsed.trajectory : parsed;
    return (
      Array.isArray(events) &&
      events.every((event) => typeof event === 'object' && event !== null && !Array.isArray(event))
    );
  } catch {
    return false;
  }
}

const replay = text(LARGE_BODY).refine(
  (value) => value === '' || isReplay(value),
  'must be a JSON array of events, or an object with such an array as "trajectory"',
);

/** A replay brings its own messages. `""` and `[]` are "not given". */
const NOT_BESIDE_A_REPLAY = ['initial_user_msg', 'image_urls', 'suggested_task'] as const;

type Given = Partial<Record<'replay_json' | (typeof NOT_BESIDE_A_REPLAY)[number], unknown>>;

function nothingBesideAReplay(body: Given, context: z.RefinementCtx): void {
  if (!isGiven(body.replay_json)) return;
  for (const member of NOT_BESIDE_A_REPLAY) {
    if (!isGiven(body[member])) continue;
    context.addIssue({ code: 'custom', path: [member], message: 'cannot be given with replay_json' });
  }
}

function isGiven(value: unknown): boolean {
  return (
    value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
  );
}

/** Body of `POST /api/conversations`. Every member is optional; an unknown one is refused. */
export const conversationBody = z
  .strictObject({
    repository: z
      .union([repository, z.literal('')], { error: 'must be owner/name' })
      .nullish()
      .describe('The repository to work on.'),
    git_provider: maybeProvider.describe('Where the repository lives.'),
    selected_branch: branch.nullish().describe('The branch to check out; without it a new one is made.'),
    initial_user_msg: text(LARGE_BODY).nullish().describe('The first message.'),
    image_urls: z.array(imageUrl).max(100).nullish().describe('Images of the first message.'),
    replay_json: replay.nullish().describe('Recorded events to run again: a JSON array as a string.'),
    suggested_task: suggestedTask.nullish().describe('A task found at a provider.'),
    create_microagent: createMicroagent.nullish().describe('Write a microagent for a repository.'),
    conversation_instructions: text(200_000).nullish().describe('Told to the agent in every run.'),
    mcp_config: strictMcpConfig.nullish().describe("Added to the user's MCP servers for this conversation."),
    conversation_id: z
      .union([conversationId, z.literal('')], { error: 'must be 1 to 100 letters, digits, "_" or "-"' })
      .nullish()
      .describe('An id of your own: the same request can then be repeated safely.'),
  })
  // Also when another member is wrong: all are named at once.
  .superRefine(nothingBesideAReplay, { when: ({ value }) => typeof value === 'object' && value !== null });
export type ConversationBody = z.output<typeof conversationBody>;

export const CONVERSATION_STATUSES = ['STARTING', 'RUNNING', 'STOPPED', 'ERROR'] as const;
export const conversationStatus = z.enum(CONVERSATION_STATUSES);
export type ConversationStatus = z.output<typeof conversationStatus>;

export const conversationReply = z.object({
  status: z.literal('ok'),
  conversation_id: z.string(),
  message: z.string().nullable(),
  conversation_status: conversationStatus,
});

export const conversationError = z.object({ code: z.string(), message: z.string(), hint: z.string() });
export type ConversationError = z.output<typeof conversationError>;

/** One conversation as the lists and `GET /api/conversations/{id}` give it. */
export const conversationView = z.object({
  conversation_id: z.string(),
  title: z.string(),
  last_updated_at: z.string().nullable(),
  status: conversationStatus,
  runtime_status: z.string().nullable(),
  selected_repository: z.string().nullable(),
  selected_branch: z.string().nullable(),
  git_provider: z.string().nullable(),
  trigger: z.string().nullable(),
  num_connections: z.number(),
  url: z.string().nullable(),
  session_api_key: z.null(),
  created_at: z.string(),
  pr_number: z.array(z.number()),
  agent_state: z.string(),
  queued: z
    .boolean()
    .describe(
      'It waits for its turn: as many are driven as PARLEY_MAX_RUNNING allows, of its user or in all.',
    ),
  error: conversationError.nullable(),
});
export type ConversationView = z.output<typeof conversationView>;

export const conversationPage = z.object({
  results: z.array(conversationView),
  next_page_id: z.string().nullable(),
});

export const conversationPatch = z.strictObject({
  title: line(200)
    .transform((value) => value.trim())
    .refine((value) => value.length > 0, 'must not be empty'),
});

export const startBody = z.object({ providers_set: z.array(z.string()).nullish() });

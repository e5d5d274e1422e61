import { z } from 'zod';
import { imageUrl, LARGE_BODY } from './conversations.ts';
import { STORABLE, isStorable, line, text } from './text.ts';

/** Events a page may have at most: V0's limit. */
export const MAX_EVENTS = 100;

const digits = (what: string) =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, `must be ${what}`)
    .transform(Number);
/** Where to begin: an id below 0 stands before all there are. */
const start = z
  .string()
  .regex(/^-?[0-9]{1,9}$/, 'must be an event id')
  .transform((value) => Math.max(0, Number(value)));
/** As clients of V0 write it: Python makes `True` and `False` of its own. */
const flag = z
  .string()
  .regex(/^([Tt]rue|TRUE|1|[Yy]es|[Oo]n|[Ff]alse|FALSE|0|[Nn]o|[Oo]ff)$/, 'must be true or false')
  .transform((value) => /^(true|1|yes|on)$/i.test(value));

export const eventsQuery = z.object({
  start_id: start.optional().describe('The first id of the page; 0 when not given.'),
  end_id: digits('an event id').optional().describe('The last id, itself included.'),
  reverse: flag.optional().describe('Newest first.'),
  limit: z
    .string()
    .regex(/^-?[0-9]{1,9}$/, 'must be an integer')
    .transform(Number)
    .optional()
    .describe(`At most this many, 0 to ${MAX_EVENTS}; 20 when not given. A page is bounded in bytes too.`),
});

export const streamQuery = z.object({
  start_id: start.optional().describe('Begin with this event; `Last-Event-ID` wins.'),
});

/** One event in the shape of V0; what `args` and `extras` hold depends on the kind. */
export const eventView = z.looseObject({
  id: z.int(),
  timestamp: z.string(),
  source: z.string(),
  message: z.string(),
});

export const eventsPage = z.object({ events: z.array(eventView), has_more: z.boolean() });
export const trajectory = z.object({ trajectory: z.array(eventView) });

/** The states a user may ask for. */
export const ASKED_STATES = ['running', 'paused', 'stopped', 'user_confirmed', 'user_rejected'] as const;
export type AskedState = (typeof ASKED_STATES)[number];

const imageUrls = z.array(imageUrl).max(100).nullish();

const messageAction = z.object({
  action: z.literal('message'),
  args: z
    .object({
      content: text(LARGE_BODY),
      image_urls: imageUrls,
      images_urls: imageUrls.describe('What old clients of V0 call `image_urls`.'),
      file_urls: z.array(line(4_096)).max(100).nullish(),
    })
    .transform(({ images_urls: old, image_urls: images, ...args }) => ({
      ...args,
      image_urls: images ?? old,
    })),
});

/** Characters of the reason for a rejection. */
const REASON = 10_000;

const stateAction = z.object({
  action: z.literal('change_agent_state'),
  args: z.object({
    agent_state: z.enum(ASKED_STATES),
    thought: text(REASON).nullish().describe('With `user_rejected`: why, for the agent.'),
  }),
});

/** Characters of a command. */
const COMMAND = 100_000;

const runAction = z.object({
  action: z.literal('run'),
  args: z.object({
    command: text(COMMAND)
      .min(1, 'must not be empty')
      .describe("For the agent's shell, between what the agent itself does there."),
    hidden: z.boolean().nullish(),
  }),
});

/** What a user may have done beside commands, in the form in which V0 logs it. Of an old trajectory or a script. */
export const TOOL_ACTIONS = ['read', 'write', 'edit', 'think', 'task_tracking', 'call_tool_mcp'] as const;

/** What V0 had and nothing here does: answered with what to send instead. */
export const UNKNOWN_HERE = [
  'run_ipython',
  'browse',
  'browse_interactive',
  'delegate',
  'condensation_request',
] as const;

/** What V0's service and agent say of themselves. Of a client it stands in the log and means nothing there. */
export const INERT_ACTIONS = ['system', 'recall', 'condensation', 'null'] as const;
type InertAction = (typeof INERT_ACTIONS)[number];

export function isInertAction(name: string): name is InertAction {
  return INERT_ACTIONS.some((one) => one === name);
}

/** What ends the agent's work, as its own word does. */
export const ENDING_ACTIONS = ['finish', 'reject'] as const;
export type EndingAction = (typeof ENDING_ACTIONS)[number];

/** Characters of the arguments of another action, as JSON: what stands in the largest file that is edited, and what is to. */
const ARGS = 4 * 1024 * 1024;

const anyArgs = z
  .looseObject({})
  .refine(isStorable, STORABLE)
  .refine((args) => JSON.stringify(args).length <= ARGS, `must be at most ${ARGS} characters of JSON`);

const toolAction = z.object({
  action: z.enum(TOOL_ACTIONS),
  args: anyArgs.describe("As the agent's own of that name has them; done between the steps of the agent."),
});

const unknownAction = z.object({
  action: z.enum(UNKNOWN_HERE),
  args: anyArgs
    .default({})
    .describe('Stored as they are. No tool here does it: an error observation says what to send instead.'),
});

const inertAction = z.object({
  action: z.enum(INERT_ACTIONS),
  args: anyArgs.default({}).describe('Stored as they are; the agent is not told.'),
});

const endingAction = z.object({
  action: z.enum(ENDING_ACTIONS),
  args: anyArgs.default({}).describe('Stored as they are. The agent stops, `finished` or `rejected`.'),
});

const ACTIONS = [
  'message',
  'change_agent_state',
  'run',
  ...TOOL_ACTIONS,
  ...UNKNOWN_HERE,
  ...INERT_ACTIONS,
  ...ENDING_ACTIONS,
];

/** Body of `POST …/events`: what a client may add to the log. */
export const clientAction = z.discriminatedUnion(
  'action',
  [messageAction, stateAction, runAction, toolAction, unknownAction, inertAction, endingAction],
  { error: `must be one of "${ACTIONS.join('", "')}"` },
);
export type ClientAction = z.output<typeof clientAction>;

/** Body of `POST …/message`. */
export const messageBody = z.object({
  message: text(LARGE_BODY).min(1, 'must not be empty'),
  image_urls: imageUrls,
});

export const accepted = z.object({ success: z.literal(true) });

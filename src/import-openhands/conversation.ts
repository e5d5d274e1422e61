import { z } from 'zod';
import { type ConversationBody, conversationBody, conversationId } from '../contract/conversations.ts';
import { stateChanged } from '../events/build.ts';
import type { AgentState } from '../events/event.ts';
import { convertEvents, type Converted, type PastEvent, type ReadFile } from './events.ts';
import type { Session } from './read-home.ts';

/** A conversation of V0, ready to be stored. */
export interface PastConversation {
  id: string;
  title: string;
  trigger: string;
  createdAt: string;
  /** What it would have been created with: its repository, branch and provider. */
  request: ConversationBody;
  events: PastEvent[];
}

const metadata = z.looseObject({
  title: z.string().max(1_000).nullish(),
  trigger: z
    .string()
    .regex(/^[a-z_]{1,50}$/)
    .nullish(),
  created_at: z.string().nullish(),
  selected_repository: z.unknown().optional(),
  selected_branch: z.unknown().optional(),
  git_provider: z.unknown().optional(),
});

/** States in which nothing of the agent's is left to do. */
const AT_REST: ReadonlySet<AgentState> = new Set([
  'awaiting_user_input',
  'finished',
  'rejected',
  'error',
  'paused',
  'stopped',
]);

/** Null where there is nothing that could be kept; what was left out is in `problems`, by file. */
export function pastConversation(session: Session): {
  conversation: PastConversation | null;
  problems: Converted['problems'];
} {
  const { id } = session;
  const { events, problems } = convertEvents(session.events);
  const name = session.metadata.name;
  if (!conversationId.safeParse(id).success) {
    return {
      conversation: null,
      problems: [{ name: `sessions/${id}`, why: 'its name is no id that we take' }],
    };
  }
  const known = metadataOf(session.metadata, problems);
  if (known === null && events.length === 0) return { conversation: null, problems };
  const { title, trigger, created_at } = known ?? {};
  const request = requestOf(known ?? {}, (member) =>
    problems.push({ name, why: `${member} is not valid: the conversation is kept without` }),
  );
  return {
    conversation: {
      id,
      title: title || `Conversation ${id.slice(0, 5)}`,
      trigger: trigger ?? 'gui',
      createdAt: timeOf(created_at ?? events[0]?.timestamp),
      request: { ...request, conversation_id: id },
      events: settled(events),
    },
    problems,
  };
}

function metadataOf(file: ReadFile, problems: Converted['problems']): z.output<typeof metadata> | null {
  if ('problem' in file) {
    problems.push({ name: file.name, why: file.problem });
    return null;
  }
  const parsed = metadata.safeParse(file.json);
  if (parsed.success) return parsed.data;
  problems.push({ name: file.name, why: `is not as expected: ${parsed.error.issues[0]?.path.join('.')}` });
  return null;
}

function requestOf(
  known: Partial<z.output<typeof metadata>>,
  leftOut: (member: string) => void,
): ConversationBody {
  const members = {
    repository: known.selected_repository,
    selected_branch: known.selected_branch,
    git_provider: known.git_provider,
  };
  const request: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(members)) {
    if (value === null || value === undefined || value === '') continue;
    if (conversationBody.safeParse({ [member]: value }).success) request[member] = value;
    else leftOut(member);
  }
  return conversationBody.parse(request);
}

/** V0 writes local time without a zone, or UTC with one; the first is taken for the second. */
function timeOf(text: string | undefined): string {
  const zoned = text && !/(Z|[+-]\d\d:?\d\d)$/.test(text) ? `${text}Z` : text;
  const time = new Date(zoned ?? Number.NaN);
  return (Number.isNaN(time.getTime()) ? new Date() : time).toISOString();
}

/** A log that ends in the middle of a run says that it was stopped, as a stop would have. */
function settled(events: readonly PastEvent[]): PastEvent[] {
  const last = events.findLast(
    (event) => 'observation' in event && event.observation === 'agent_state_changed',
  );
  const state =
    last && 'observation' in last && last.observation === 'agent_state_changed'
      ? last.extras.agent_state
      : 'loading';
  return AT_REST.has(state) ? [...events] : [...events, stateChanged('stopped')];
}

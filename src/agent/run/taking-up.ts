import { action, observation, stateAsked, stateChanged } from '../../events/build.ts';
import type { NewEvent, ObservationExtras } from '../../events/event.ts';
import type { RepositoryKnowledge } from '../../microagents/read.ts';
import type { AgentContext } from '../context.ts';
import type { RunLog } from '../run-log.ts';
import { instructionsOf, knowledgeFor, roomFor } from './recalling.ts';

/** How much of a message is repeated as what was asked of the knowledge. */
const MAX_QUERY = 1_000;
/** How many things that could not be used are named at once. */
const MOST_PROBLEMS = 10;

/**
 * Takes up what the user said, and says that the agent works: with it goes what the repository has to tell, always or
 * for a word of the user's.
 */
export async function takeUp(
  log: RunLog,
  context: AgentContext,
  introduction: NewEvent | null,
): Promise<void> {
  const { history } = log;
  const events: NewEvent[] = introduction ? [introduction] : [];
  const newest = history.pending.at(-1);
  if (newest) {
    const type = history.begun ? 'knowledge' : 'workspace_context';
    const query = newest.args.content.slice(0, MAX_QUERY);
    const said = `Retrieving content for: ${query}`;
    if (history.agentState === 'loading') events.push(stateAsked('running', 'The agent begins'));
    events.push(action('user', 'recall', said, { recall_type: type, query, thought: '' }));
  }
  if (history.agentState !== 'running') events.push(stateChanged('running'));
  if (events.length > 0) await log.append(events);
  if (log.recalls.open) await recall(log, context, log.recalls.open);
}

async function recall(
  log: RunLog,
  context: AgentContext,
  { id: cause, type }: NonNullable<RunLog['recalls']['open']>,
): Promise<void> {
  const found: RepositoryKnowledge = (await context.knowledge?.()) ?? { microagents: [], problems: [] };
  const room = roomFor(context);
  const taken = log.history.units.findLast((unit) => unit.kind === 'user');
  const said = taken?.messages.map(({ args }) => args.content).join('\n') ?? '';
  const microagent_knowledge = knowledgeFor(said, found, room, log.recalls);
  const events: NewEvent[] = [];
  if (type === 'workspace_context') {
    const extras = { ...workspaceContext(context, instructionsOf(found, room)), microagent_knowledge };
    events.push(observation('environment', 'recall', 'Added workspace context', extras, { cause }));
  } else if (microagent_knowledge.length > 0) {
    const extras = { ...EMPTY, microagent_knowledge };
    const content = 'Retrieved knowledge from microagents';
    events.push(observation('environment', 'recall', content, extras, { cause }));
  }
  events.push(...log.notices.of([problemsOf(found)]));
  if (events.length > 0) await log.append(events);
  log.recalls.open = null;
}

function problemsOf({ problems }: RepositoryKnowledge): string {
  const more = problems.length - MOST_PROBLEMS;
  const named = problems.slice(0, MOST_PROBLEMS).join(' ');
  return more > 0 ? `${named} And ${more} more.` : named;
}

const EMPTY: ObservationExtras['recall'] = {
  recall_type: 'knowledge',
  repo_name: '',
  repo_directory: '',
  repo_branch: '',
  repo_instructions: '',
  runtime_hosts: {},
  additional_agent_instructions: '',
  date: '',
  custom_secrets_descriptions: {},
  conversation_instructions: '',
  working_dir: '',
  microagent_knowledge: [],
};

function workspaceContext(context: AgentContext, repo_instructions: string): ObservationExtras['recall'] {
  const { repository, instructions, secretDescriptions, workspaceRoot = '/workspace' } = context;
  return {
    ...EMPTY,
    recall_type: 'workspace_context',
    repo_name: repository?.name ?? '',
    repo_directory: repository?.directory ?? '',
    repo_branch: repository?.branch ?? '',
    repo_instructions,
    date: new Date().toISOString().slice(0, 10),
    custom_secrets_descriptions: { ...secretDescriptions },
    conversation_instructions: instructions,
    working_dir: repository ? `${workspaceRoot}/${repository.directory}` : workspaceRoot,
  };
}

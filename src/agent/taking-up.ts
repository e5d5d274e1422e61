import { action, observation, stateChanged } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import type { AgentContext } from './context.ts';
import type { RunLog } from './run-log.ts';

/** How much of a message is repeated as what was asked of the knowledge. */
const MAX_QUERY = 1_000;

/** Takes up what the user said, and says that the agent works. One commit when there is nothing to say but that. */
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
    events.push(action('user', 'recall', said, { recall_type: type, query, thought: '' }));
  }
  if (history.agentState !== 'running') events.push(stateChanged('running'));
  if (events.length > 0) await log.append(events);
  if (history.openRecall !== null) await log.append([workspaceContext(context, history.openRecall)]);
}

function workspaceContext(context: AgentContext, cause: number): NewEvent {
  const { repository, instructions, secretDescriptions, workspaceRoot = '/workspace' } = context;
  return observation(
    'environment',
    'recall',
    'Added workspace context',
    {
      recall_type: 'workspace_context',
      repo_name: repository?.name ?? '',
      repo_directory: repository?.directory ?? '',
      repo_branch: repository?.branch ?? '',
      repo_instructions: '',
      runtime_hosts: {},
      additional_agent_instructions: '',
      date: new Date().toISOString().slice(0, 10),
      custom_secrets_descriptions: { ...secretDescriptions },
      conversation_instructions: instructions,
      working_dir: repository ? `${workspaceRoot}/${repository.directory}` : workspaceRoot,
      microagent_knowledge: [],
    },
    { cause },
  );
}

import type { ConversationView } from '../contract/conversations.ts';
import type { Conversation } from './store.ts';

/** A row as clients read it. `watchers`: how many follow its events now. */
export function viewOf(row: Conversation, watchers: number): ConversationView {
  const stopped = row.status === 'STOPPED';
  return {
    conversation_id: row.id,
    title: row.title,
    last_updated_at: row.updatedAt,
    status: row.status,
    runtime_status: stopped ? null : row.runtimeStatus,
    selected_repository: row.selectedRepository,
    selected_branch: row.selectedBranch,
    git_provider: row.gitProvider,
    trigger: row.trigger,
    num_connections: watchers,
    url: stopped ? null : `/api/conversations/${row.id}`,
    session_api_key: null,
    created_at: row.createdAt,
    pr_number: [],
    agent_state: row.agentState,
    queued: row.wanted && row.driver === null,
    error: row.error,
  };
}

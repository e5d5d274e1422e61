import type { Generated } from 'kysely';

/** The tables, as both databases have them. Times are ISO 8601 in UTC, flags 0 or 1, documents JSON text. */
export interface Schema {
  meta: { name: string; value: string };
  users: { id: string; name: string; created_at: string; disabled_at: string | null };
  api_keys: {
    id: string;
    user_id: string;
    label: string;
    hash: string;
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
    last_used_at: string | null;
  };
  browser_sessions: { hash: string; key_id: string; created_at: string; expires_at: string };
  settings: { user_id: string; document: string; secrets: string };
  conversations: {
    key: Generated<number>;
    id: string;
    user_id: string;
    title: string;
    trigger_kind: string;
    selected_repository: string | null;
    selected_branch: string | null;
    git_provider: string | null;
    status: string;
    runtime_status: string | null;
    agent_state: string;
    error: string | null;
    created_at: string;
    updated_at: string;
    last_event_id: number;
    last_user_message: number;
    accumulated_cost: number;
    prompt_tokens: number;
    completion_tokens: number;
    generation: number;
    driver: string | null;
    wanted: number;
    /** The place in the line: of those who wait or are driven, else null. */
    turn: number | null;
    unfinished: number;
    prepared: number;
    iterations: number;
    iterations_from: Generated<number>;
    budget_from: number;
    condensation: Generated<number>;
    reserved: Generated<string>;
    request: string;
  };
  /** How many of a user's conversations wait. Kept by triggers: nobody writes it. */
  lines: { user_id: string; waiting: number };
  /** Conversations that were removed and whose workspace is still to be discarded. */
  removed_conversations: { key: number };
  events: { conversation: number; id: number; body: string };
  open_actions: { conversation: number; event_id: number; state: string };
  /** Branches and tags by their full names: `refs/heads/fix`. */
  made_refs: { conversation: number; name: string };
  experiments: { user_id: string; conversation_id: string; config: string };
  audit: {
    id: Generated<number>;
    at: string;
    action: string;
    user_id: string | null;
    user_name: string | null;
    actor: string;
    subject: string;
    detail: string;
  };
  feedback: {
    id: Generated<number>;
    conversation: number;
    at: string;
    last_event_id: number;
    polarity: string | null;
    permissions: string;
    email: string;
    version: string;
  };
  idempotency_keys: { user_id: string; idempotency_key: string; conversation_id: string; created_at: string };
}

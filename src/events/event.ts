/**
 * What happened in a conversation, in one JSON form: the same on disk, on the wire and in a trajectory. The
 * shapes are V0's (events as its clients read them), so every `args` and `extras` is spelled as they expect.
 */

export type EventSource = 'user' | 'agent' | 'environment';

export const AGENT_STATES = [
  'loading',
  'running',
  'awaiting_user_input',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
  'paused',
  'stopped',
  'finished',
  'rejected',
  'error',
  'rate_limited',
] as const;
export type AgentState = (typeof AGENT_STATES)[number];

/** -1 unknown, 0 low, 1 medium, 2 high. */
export type SecurityRisk = -1 | 0 | 1 | 2;
export const CONFIRMATION_STATES = ['confirmed', 'rejected', 'awaiting_confirmation'] as const;
export type ConfirmationState = (typeof CONFIRMATION_STATES)[number];

/** What a `recall` is of: where the agent stands, or what words of the user's brought up. */
export const RECALL_TYPES = ['workspace_context', 'knowledge'] as const;
type RecallType = (typeof RECALL_TYPES)[number];

export interface TaskItem {
  id: string;
  title: string;
  status: 'todo' | 'in_progress' | 'done';
  notes: string;
}

/** Whether an issue can be solved as it is written; `unknown` where the model did not say it in the form asked for. */
export interface Solvability {
  verdict: 'yes' | 'partly' | 'no' | 'unknown';
  missing: string[];
}

/** The `args` of each action. */
export interface ActionArgs {
  system: { content: string; tools: unknown[]; openhands_version: string; agent_class: string };
  message: {
    content: string;
    file_urls: string[] | null;
    image_urls: string[] | null;
    wait_for_response: boolean;
    security_risk: SecurityRisk;
    /** Ours, of an estimate that was made before the work on an issue. */
    solvability?: Solvability;
  };
  change_agent_state: { agent_state: AgentState; thought: string };
  recall: { recall_type: RecallType; query: string; thought: string };
  run: {
    command: string;
    is_input: boolean;
    /** What the command reads on its standard input. */
    stdin?: string;
    thought: string;
    blocking: boolean;
    is_static: boolean;
    cwd: string | null;
    hidden: boolean;
    confirmation_state: ConfirmationState;
    security_risk: SecurityRisk;
  };
  read: {
    path: string;
    start: number;
    end: number;
    thought: string;
    impl_source: 'oh_aci';
    view_range: [number, number] | null;
    /** Only of one that its user is asked about. */
    confirmation_state?: ConfirmationState;
    security_risk: SecurityRisk;
  };
  /** Of a user alone: the agent edits. */
  write: {
    path: string;
    content: string;
    start: number;
    end: number;
    thought: string;
    security_risk: SecurityRisk;
  };
  edit: {
    path: string;
    command: 'create' | 'str_replace' | 'insert' | 'undo_edit';
    file_text: string | null;
    old_str: string | null;
    new_str: string | null;
    insert_line: number | null;
    content: string;
    start: number;
    end: number;
    thought: string;
    impl_source: 'oh_aci';
    confirmation_state?: ConfirmationState;
    security_risk: SecurityRisk;
  };
  think: { thought: string };
  task_tracking: { command: 'plan' | 'view'; task_list: TaskItem[]; thought: string };
  call_tool_mcp: {
    name: string;
    /** Ours: the server whose tool it is. */
    server?: string;
    arguments: Record<string, unknown>;
    thought: string;
    confirmation_state?: ConfirmationState;
    security_risk: SecurityRisk;
  };
  finish: { final_thought: string; outputs: Record<string, unknown>; thought: string };
  reject: { outputs: { reason: string }; thought: string };
  condensation: {
    forgotten_event_ids: number[] | null;
    forgotten_events_start_id: number | null;
    forgotten_events_end_id: number | null;
    summary: string | null;
    summary_offset: number | null;
  };
}
export type ActionName = keyof ActionArgs;

export interface CommandMetadata {
  exit_code: number;
  pid: number;
  username: string;
  hostname: string;
  working_dir: string;
  py_interpreter_path: string | null;
  prefix: string;
  suffix: string;
}

/** The `extras` of each observation. */
export interface ObservationExtras {
  agent_state_changed: { agent_state: AgentState; reason: string };
  run: { command: string; metadata: CommandMetadata; hidden: boolean };
  read: { path: string; impl_source: 'oh_aci' };
  write: { path: string };
  edit: {
    path: string;
    prev_exist: boolean;
    old_content: string | null;
    new_content: string | null;
    impl_source: 'oh_aci';
    diff: string;
    _diff_cache: null;
  };
  think: Record<string, never>;
  task_tracking: { command: 'plan' | 'view'; task_list: TaskItem[] };
  /** `image_urls`: ours, the images of the answer, in whose place `content` has their numbers. */
  mcp: { name: string; arguments: Record<string, unknown>; image_urls?: string[] };
  error: { error_id: string };
  user_rejected: Record<string, never>;
  recall: {
    recall_type: RecallType;
    repo_name: string;
    repo_directory: string;
    repo_branch: string;
    repo_instructions: string;
    runtime_hosts: Record<string, number>;
    additional_agent_instructions: string;
    date: string;
    custom_secrets_descriptions: Record<string, string>;
    conversation_instructions: string;
    working_dir: string;
    microagent_knowledge: { name: string; trigger: string; content: string }[];
  };
  null: Record<string, never>;
}
export type ObservationName = keyof ObservationExtras;

export interface ToolCallMetadata {
  function_name: string;
  tool_call_id: string;
  /**
   * What of the model's answer is needed to rebuild the history. Each event of an answer has its own call alone, and
   * the first has the text, or an answer of many large calls would be stored many times.
   */
  model_response: ModelResponse;
  total_calls_in_response: number;
}

export interface ModelResponse {
  id: string;
  content: string;
  tool_calls: RecordedToolCall[];
  /** The calls of the answer that follow this one and have no event yet: one before them is done first, or waits for its user. */
  later?: RecordedToolCall[];
}

/** `metadata`: what the provider wants back with the call, opaque. */
export interface RecordedToolCall {
  id: string;
  name: string;
  input: unknown;
  metadata?: unknown;
}

export interface TokenUsage {
  model: string;
  prompt_tokens: number;
  completion_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  context_window: number;
  per_turn_token: number;
  response_id: string;
}

/** What the conversation has cost so far, on every action of the agent. `costs` and its like stay empty: they would grow. */
export interface LlmMetrics {
  accumulated_cost: number;
  max_budget_per_task: number | null;
  accumulated_token_usage: TokenUsage;
  costs: { model: string; cost: number; timestamp: number }[];
  response_latencies: { model: string; latency: number; response_id: string }[];
  token_usages: TokenUsage[];
}

/** What of the forgotten events a run needs that reads no further back than this condensation. */
export interface Carried {
  /** How many steps are forgotten in all. */
  steps: number;
  /** What the user said in them, oldest first, cut to what fits. */
  said: string[];
  /** Messages of the user among them that the agent had not taken up yet, and actions of the user whose observation comes later: not forgotten. */
  waiting: number[];
  tasks: TaskItem[];
  /** Where the last command left the shell; null before the first. */
  cwd: string | null;
}

interface Base {
  source: EventSource;
  message: string;
  tool_call_metadata?: ToolCallMetadata;
  llm_metrics?: LlmMetrics;
  /** Ours: the number of the step of `replay_json` that this repeats. */
  replay?: number;
  /** Ours, of a condensation that this service made. */
  carried?: Carried;
  /** Ours, of an action that a client added as it is: whatever its name and its `args` say, nothing goes by it but the end of a replay, where it is a `finish`. */
  inert?: true;
}

type ActionOf<A extends ActionName> = Base & {
  action: A;
  args: ActionArgs[A];
  /** Seconds the action may take. */
  timeout?: number;
};

type ObservationOf<O extends ObservationName> = Base & {
  observation: O;
  content: string;
  extras: ObservationExtras[O];
  /** The id of the action this answers. */
  cause?: number;
  success?: boolean;
};

export type NewAction = { [A in ActionName]: ActionOf<A> }[ActionName];
export type NewObservation = { [O in ObservationName]: ObservationOf<O> }[ObservationName];

/** An event before the store has given it its id. */
export type NewEvent = NewAction | NewObservation;

/** An event of the log: `id` counts from 0 without gaps, `timestamp` is ISO 8601 in UTC without a zone, as V0 has it. */
export type Event = { id: number; timestamp: string } & NewEvent;
export type ActionEvent<A extends ActionName = ActionName> = Event & { action: A; args: ActionArgs[A] };

export function isAction<A extends ActionName>(
  event: NewEvent,
  name: A,
): event is Extract<NewEvent, { action: A }> {
  return 'action' in event && event.action === name;
}

/** A condensation of ours; one that was imported hides nothing from a run. */
export type Condensation = Extract<NewEvent, { action: 'condensation' }> & { carried: Carried };

export function isCondensation(event: NewEvent): event is Condensation {
  return isAction(event, 'condensation') && event.carried !== undefined;
}

export function isObservation<O extends ObservationName>(
  event: NewEvent,
  name: O,
): event is Extract<NewEvent, { observation: O }> {
  return 'observation' in event && event.observation === name;
}

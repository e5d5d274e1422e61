import { z } from 'zod';
import { type ActionName, AGENT_STATES, type ObservationName, RECALL_TYPES } from '../events/event.ts';

/** V0 leaves members out, or null, that our agent and clients count on: they get what V0 takes them for. */
function or<T extends z.ZodType>(schema: T, fallback: z.output<T>) {
  return schema.nullish().transform((value) => value ?? fallback);
}

const text = or(z.string(), '');
const flag = or(z.boolean(), false);
const nullable = <T extends z.ZodType>(schema: T) => or(schema.nullable(), null);
const strings = nullable(z.array(z.string()));
const record = or(z.record(z.string(), z.unknown()), {});
const risk = or(z.union([z.literal(-1), z.literal(0), z.literal(1), z.literal(2)]), -1);
const count = or(z.number(), 0);
const agentState = z.enum(AGENT_STATES);
const recallType = z.enum(RECALL_TYPES);

const task = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['todo', 'in_progress', 'done']),
  notes: text,
});
const tasks = or(z.array(task), []);

/** The `args` of the actions that we have too. What they have beside is kept. */
export const ACTION_ARGS: Readonly<Record<ActionName, z.ZodType<object>>> = {
  system: z.looseObject({
    content: z.string(),
    tools: or(z.array(z.unknown()), []),
    openhands_version: text,
    agent_class: text,
  }),
  message: z.looseObject({
    content: text,
    file_urls: strings,
    image_urls: strings,
    wait_for_response: flag,
    security_risk: risk,
  }),
  change_agent_state: z.looseObject({ agent_state: agentState, thought: text }),
  recall: z.looseObject({ recall_type: recallType, query: text, thought: text }),
  run: z.looseObject({
    command: z.string(),
    is_input: flag,
    thought: text,
    blocking: flag,
    is_static: flag,
    cwd: nullable(z.string()),
    hidden: flag,
    confirmation_state: or(z.string(), 'confirmed'),
    security_risk: risk,
  }),
  read: z.looseObject({
    path: z.string(),
    start: count,
    end: or(z.number(), -1),
    thought: text,
    impl_source: or(z.string(), 'oh_aci'),
    view_range: nullable(z.array(z.number())),
    security_risk: risk,
  }),
  write: z.looseObject({
    path: z.string(),
    content: text,
    start: count,
    end: or(z.number(), -1),
    thought: text,
    security_risk: risk,
  }),
  edit: z.looseObject({
    path: z.string(),
    command: text,
    file_text: nullable(z.string()),
    old_str: nullable(z.string()),
    new_str: nullable(z.string()),
    insert_line: nullable(z.number()),
    content: text,
    start: or(z.number(), 1),
    end: or(z.number(), -1),
    thought: text,
    impl_source: or(z.string(), 'oh_aci'),
    security_risk: risk,
  }),
  think: z.looseObject({ thought: text }),
  task_tracking: z.looseObject({ command: z.enum(['plan', 'view']), task_list: tasks, thought: text }),
  call_tool_mcp: z.looseObject({ name: z.string(), arguments: record, thought: text, security_risk: risk }),
  finish: z.looseObject({ final_thought: text, outputs: record, thought: text }),
  reject: z.looseObject({ outputs: record, thought: text }),
  condensation: z.looseObject({
    forgotten_event_ids: nullable(z.array(z.number())),
    forgotten_events_start_id: nullable(z.number()),
    forgotten_events_end_id: nullable(z.number()),
    summary: nullable(z.string()),
    summary_offset: nullable(z.number()),
  }),
};

const metadata = z.looseObject({
  exit_code: or(z.number(), -1),
  pid: or(z.number(), -1),
  username: text,
  hostname: text,
  working_dir: text,
  py_interpreter_path: nullable(z.string()),
  prefix: text,
  suffix: text,
});

/** The `extras` of the observations that we have too. */
export const OBSERVATION_EXTRAS: Readonly<Record<ObservationName, z.ZodType<object>>> = {
  agent_state_changed: z.looseObject({ agent_state: agentState, reason: text }),
  run: z.looseObject({
    command: text,
    metadata: or(metadata, metadata.parse({})),
    hidden: flag,
  }),
  read: z.looseObject({ path: text, impl_source: or(z.string(), 'oh_aci') }),
  write: z.looseObject({ path: text }),
  edit: z.looseObject({
    path: z.string(),
    prev_exist: flag,
    old_content: nullable(z.string()),
    new_content: nullable(z.string()),
    impl_source: or(z.string(), 'oh_aci'),
    diff: text,
  }),
  think: z.looseObject({}),
  task_tracking: z.looseObject({ command: z.enum(['plan', 'view']), task_list: tasks }),
  mcp: z.looseObject({ name: text, arguments: record }),
  error: z.looseObject({ error_id: text }),
  user_rejected: z.looseObject({}),
  recall: z.looseObject({
    recall_type: recallType,
    repo_name: text,
    repo_directory: text,
    repo_branch: text,
    repo_instructions: text,
    runtime_hosts: record,
    additional_agent_instructions: text,
    date: text,
    custom_secrets_descriptions: record,
    conversation_instructions: text,
    working_dir: text,
    microagent_knowledge: or(z.array(z.unknown()), []),
  }),
  null: z.looseObject({}),
};

const usage = z.object({
  model: text,
  prompt_tokens: count,
  completion_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  context_window: count,
  per_turn_token: count,
  response_id: text,
});

/** What a conversation had cost. The lists of single calls are left behind: they grow with every event. */
export const llmMetrics = z.object({
  accumulated_cost: z.number(),
  max_budget_per_task: nullable(z.number()),
  accumulated_token_usage: usage,
});

/** The model's answer that an action came from, as V0 keeps it of its library. */
export const toolCallMetadata = z.object({
  function_name: z.string(),
  tool_call_id: z.string(),
  model_response: z.object({
    id: text,
    choices: z
      .array(
        z.object({
          message: z.object({
            content: z.unknown().optional(),
            tool_calls: or(
              z.array(
                z.object({
                  id: z.string(),
                  function: z.object({ name: text, arguments: z.unknown().optional() }),
                }),
              ),
              [],
            ),
          }),
        }),
      )
      .min(1),
  }),
});
export type V0ToolCall = z.output<typeof toolCallMetadata>;

/** An event file, before its kind is looked at. */
export const eventFile = z.looseObject({
  id: z.int().min(0),
  timestamp: text,
  source: or(z.enum(['user', 'agent', 'environment']), 'environment'),
  message: text,
  action: z.string().optional(),
  observation: z.string().optional(),
  args: record,
  extras: record,
  content: z.unknown().optional(),
  cause: z.int().nullish(),
  timeout: z.number().nullish(),
  success: z.boolean().nullish(),
});
export type EventFile = z.output<typeof eventFile>;

import { agentMessage, errorObservation, stateChanged } from '../../events/build.ts';
import type { NewAction, NewEvent, ToolCallMetadata } from '../../events/event.ts';
import type { ModelCall, ModelStep } from '../../model/answer.ts';
import { plainToolName } from '../../model/tool-name.ts';
import type { Spent } from '../spending/spending.ts';
import type { Tool } from '../tools/tool.ts';

/** A step of the model as events, to be appended in one commit. */
export interface Recorded {
  events: NewEvent[];
  /** The indexes of the actions that want an answer. */
  open: number[];
  /** The index of the one that waits for its user. */
  awaiting?: number;
  /** As in `StepRecord`. */
  settled?: readonly number[];
}

/** How much of arguments that could not be read is kept, in characters. */
const MAX_RAW = 2_000;

/** What of a model's answer is recorded. */
interface Answer extends Pick<ModelStep, 'id' | 'text' | 'calls'> {
  /** How many calls it has, when only the last of them are here. */
  of?: number;
}

/** @param spent null for a step that no model was asked for */
export function recorded(step: Answer, tools: readonly Tool[], spent: Spent | null): Recorded {
  const llm = spent ? { llm_metrics: spent.metrics } : {};
  const settled = spent ? { settled: spent.settled } : {};
  if (step.calls.length === 0) {
    const message = agentMessage(step.text, llm);
    return { events: [message, stateChanged('awaiting_user_input')], open: [], ...settled };
  }
  let thought = step.text;
  const events = step.calls.map((call, n) => {
    const understood = understand(call, tools, thought);
    const tool_call_metadata = metadataOf(step, call, n);
    if (!understood.ok) return errorObservation(understood.problem, '', { tool_call_metadata, ...llm });
    thought = '';
    return { ...understood.action, tool_call_metadata, ...llm };
  });
  const open = events.flatMap((event, n) => ('action' in event ? [n] : []));
  return { events, open, ...settled };
}

/** The calls of an answer that an action before them held up. Nothing new was asked of the model. */
export function recordedLater(
  { model_response: { id, later = [] }, total_calls_in_response }: ToolCallMetadata,
  tools: readonly Tool[],
): Recorded {
  // Goes back as it came from `ModelCall`.
  const calls = later.map(({ metadata, ...call }) => ({
    ...call,
    valid: true as const,
    ...(metadata === undefined ? {} : { metadata: metadata as NonNullable<ModelCall['metadata']> }),
  }));
  return recorded({ id, text: '', calls, of: total_calls_in_response }, tools, null);
}

function understand(
  call: ModelCall,
  tools: readonly Tool[],
  thought: string,
): { ok: true; action: NewAction } | { ok: false; problem: string } {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    const names = tools.map(({ name }) => name).join(', ');
    return { ok: false, problem: `There is no tool ${JSON.stringify(call.name)}. The tools are: ${names}.` };
  }
  if (!call.valid) return { ok: false, problem: `${call.name} was not called: ${call.problem}` };
  const understood = tool.understand(call.input, thought);
  return understood.ok
    ? understood
    : { ok: false, problem: `${call.name} was not called: ${understood.problem}` };
}

function metadataOf(step: Answer, call: ModelCall, n: number): ToolCallMetadata {
  const name = plainToolName(call.name);
  const metadata = call.metadata === undefined ? {} : { metadata: call.metadata };
  return {
    function_name: name,
    tool_call_id: call.id,
    model_response: {
      id: step.id,
      content: n === 0 ? step.text : '',
      tool_calls: [{ id: call.id, name, input: inputOf(call), ...metadata }],
    },
    total_calls_in_response: step.of ?? step.calls.length,
  };
}

/** Always an object: some providers refuse a history with other arguments. */
function inputOf(call: ModelCall): unknown {
  if (call.valid) return call.input;
  try {
    const parsed: unknown = JSON.parse(call.raw);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Shown as it stands.
  }
  return { unreadable: call.raw.slice(0, MAX_RAW) };
}

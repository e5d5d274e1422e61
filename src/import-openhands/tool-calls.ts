import type { ToolCallMetadata } from '../events/event.ts';
import { plainToolName } from '../model/tool-name.ts';
import { toolCallMetadata, type V0ToolCall } from './event-shapes.ts';

/** What V0 kept of the model's answers, by the id of the action that came of them. */
export class ToolCalls {
  readonly #calls = new Map<number, V0ToolCall>();
  /** The action that stands for a call: V0 logs one again when its user has confirmed it. */
  readonly #actionOf = new Map<string, number>();
  readonly #totals = new Map<string, number>();
  /** Answers whose text stands with their first call. */
  readonly #told = new Set<string>();

  /** To be told of every action of the agent, in order, before any is asked for. */
  see(eventId: number, metadata: unknown): void {
    const { success, data } = toolCallMetadata.safeParse(metadata);
    if (!success) return;
    const answer = data.model_response.id;
    const former = this.#actionOf.get(data.tool_call_id);
    if (former === undefined) this.#totals.set(answer, (this.#totals.get(answer) ?? 0) + 1);
    else this.#calls.delete(former);
    this.#actionOf.set(data.tool_call_id, eventId);
    this.#calls.set(eventId, data);
  }

  /** In our form: each action has its own call alone, and the first of an answer has its text. */
  of(eventId: number): ToolCallMetadata | undefined {
    const call = this.#calls.get(eventId);
    if (!call) return undefined;
    const { tool_call_id, model_response } = call;
    const first = !this.#told.has(model_response.id);
    this.#told.add(model_response.id);
    const message = model_response.choices[0]?.message;
    const own = message?.tool_calls.find(({ id }) => id === tool_call_id);
    const name = plainToolName(call.function_name);
    return {
      function_name: name,
      tool_call_id,
      model_response: {
        id: model_response.id,
        content: first ? textOf(message?.content) : '',
        tool_calls: [{ id: tool_call_id, name, input: inputOf(own?.function.arguments) }],
      },
      total_calls_in_response: this.#totals.get(model_response.id) ?? 1,
    };
  }
}

/** A text, or parts of which some are texts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((part: unknown) =>
      typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
        ? [part.text]
        : [],
    )
    .join('\n');
}

/** Always an object: some providers refuse a history with other arguments. */
function inputOf(given: unknown): unknown {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given;
  if (typeof given !== 'string') return {};
  try {
    const parsed: unknown = JSON.parse(given);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Shown as it stands.
  }
  return { unreadable: given.slice(0, 2_000) };
}

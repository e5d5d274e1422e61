import type { Message, Usage } from '../answers.ts';

export interface ShapeRequest {
  /** The `model` member of the request. */
  model: string;
  /** Ids differ between turns and are the same when a turn is asked again. */
  turn: number;
  /** Whether the request has `stream_options.include_usage`. */
  includeUsage: boolean;
}

/** Writes an answer as the events of one kind of server, each a whole `data: …` block. */
export type Shape = (message: Message, request: ShapeRequest) => string[];

/** A scripted call with everything filled in; `args` is the text on the wire. */
export interface WireCall {
  id: string;
  name: string;
  args: string;
}

export const DEFAULT_USAGE: Usage = { prompt: 100, completion: 20 };

/** Fixed, so that two runs of a test see the same bytes. */
export const CREATED = 1_760_000_000;

export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export const DONE = 'data: [DONE]\n\n';

export function wireCalls(message: Message, turn: number): WireCall[] {
  return (message.calls ?? []).map((call, n) => ({
    id: call.id ?? `call_${turn}_${n}`,
    name: call.name,
    args: typeof call.input === 'string' ? call.input : JSON.stringify(call.input),
  }));
}

export function openaiUsage(usage: Usage = DEFAULT_USAGE) {
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}

/** Pieces of `size` characters; never within a surrogate pair, which no server does, but within escapes. */
export function pieces(text: string, size: number): string[] {
  const characters = Array.from(text);
  const result: string[] = [];
  for (let i = 0; i < characters.length; i += size) result.push(characters.slice(i, i + size).join(''));
  return result;
}

/**
 * What a scripted model answers. Answers are plain JSON, so that the same script serves a server inside the test
 * process and one in a process of its own (`server.ts --script file.json`).
 */

export interface Call {
  name: string;
  /** An object is sent as JSON; a string is sent as it stands, for arguments that are not JSON. */
  input: object | string;
  /** Without one the server gives `call_<turn>_<n>`: the same after a restart of client or server. */
  id?: string;
}

export interface Usage {
  prompt: number;
  completion: number;
  cached?: number;
}

export interface Message {
  kind: 'message';
  text?: string;
  reasoning?: string;
  calls?: Call[];
  usage?: Usage;
  finishReason?: string;
}

/** How the chunks of a stream look: each is what one real server sends. See `shapes/`. */
export type ShapeName = 'openai' | 'vllm' | 'llama-cpp' | 'gemini' | 'mistral';

export type Answer =
  | Message
  | { kind: 'raw'; chunks: string[] }
  | { kind: 'status'; status: number; headers: Record<string, string>; body: unknown }
  | { kind: 'cut'; after: number; answer: Answer }
  | { kind: 'stall'; after: number; answer: Answer }
  | { kind: 'silence' }
  | { kind: 'gate'; name: string; answer: Answer }
  | { kind: 'torn'; bytes: number; answer: Answer }
  | { kind: 'shaped'; shape: ShapeName; answer: Answer }
  | { kind: 'attempts'; answers: Answer[] };

type MessageOptions = Omit<Message, 'kind' | 'text' | 'calls'>;

export function say(text: string, more: MessageOptions = {}): Message {
  return { kind: 'message', text, ...more };
}

export function call(
  name: string,
  input: object | string,
  more: MessageOptions & { text?: string } = {},
): Message {
  return calls([{ name, input }], more);
}

/** Several calls in one answer. */
export function calls(list: Call[], more: MessageOptions & { text?: string } = {}): Message {
  return { kind: 'message', calls: list, ...more };
}

/** These strings as the body of an event stream, each written on its own; nothing is added, not even `data:`. */
export function raw(chunks: string[]): Answer {
  return { kind: 'raw', chunks };
}

export function status(status: number, headers: Record<string, string> = {}, body?: unknown): Answer {
  const error = { error: { message: `scripted ${status}`, type: 'scripted', code: null } };
  return { kind: 'status', status, headers, body: body ?? error };
}

/** Sends that many events of the answer, then tears the connection down. 0: before the headers. */
export function cut(after: number, answer: Answer = say('This will not arrive whole.')): Answer {
  return { kind: 'cut', after, answer };
}

/** Sends that many events of the answer, then nothing more, with the connection held open. */
export function stall(after: number, answer: Answer = say('This will not arrive whole.')): Answer {
  return { kind: 'stall', after, answer };
}

/** Takes the request and never answers: no headers, no body. */
export function silence(): Answer {
  return { kind: 'silence' };
}

/** Holds the request until the test opens the gate of that name (which then stays open). */
export function gate(name: string, answer: Answer): Answer {
  return { kind: 'gate', name, answer };
}

/** The same stream, written in pieces of that many bytes: within an event, an escape or a UTF-8 sequence. */
export function torn(bytes: number, answer: Answer): Answer {
  return { kind: 'torn', bytes, answer };
}

export function shaped(shape: ShapeName, answer: Answer): Answer {
  return { kind: 'shaped', shape, answer };
}

/** For scripts that count turns: the first try of this turn gets the first, the next the second; the last repeats. */
export function attempts(...answers: Answer[]): Answer {
  return { kind: 'attempts', answers };
}

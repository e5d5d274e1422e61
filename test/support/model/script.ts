import type { IncomingHttpHeaders } from 'node:http';

import { z } from 'zod';

import { status, type Answer } from './answers.ts';

/** One request as it came. */
export interface ModelRequest {
  /** Counted from 0 over the life of the server. */
  readonly index: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ModelRequestBody;
  /** Assistant messages in the request: which turn of the conversation it asks for. */
  readonly turn: number;
  /** True when the client went away before its answer was whole. */
  abandoned: boolean;
}

/** The members tests look at; the rest is kept too. */
export const requestBody = z.looseObject({
  model: z.string().optional(),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).optional(),
  messages: z.array(
    z.looseObject({
      role: z.string(),
      content: z.unknown().optional(),
      tool_calls: z.array(z.unknown()).optional(),
      tool_call_id: z.string().optional(),
    }),
  ),
  tools: z.array(z.looseObject({})).optional(),
});

export type ModelRequestBody = z.infer<typeof requestBody>;

/** A list is used up one by one, in the order in which requests come. A function may look at the request. */
export type Script = readonly Answer[] | ((request: ModelRequest, index: number) => Answer | Promise<Answer>);

// What an answer needs beyond its kind is checked by playing it.
const answer = z.custom<Answer>((value) => z.looseObject({ kind: z.string() }).safeParse(value).success);
const scriptFile = z.union([
  z.strictObject({ byTurn: z.array(answer), other: answer.optional() }),
  z.strictObject({ queue: z.array(answer) }),
]);

/**
 * Answers by the turn that the request asks for, so without memory: after a restart of whoever asks (or of this
 * server) the script goes on where the conversation stands. `other` answers requests that offer no tools: titles,
 * summaries.
 */
export function byTurn(answers: readonly Answer[], other?: Answer): Script {
  return ({ body, turn }) => {
    if (other && !body.tools?.length) return other;
    return (
      answers[turn] ?? exhausted(`it has ${answers.length} turns, the request asks for turn ${turn} (from 0)`)
    );
  };
}

/** A script as text: `{"byTurn": […], "other": …}` or `{"queue": […]}`. */
export function scriptOfFile(text: string): Script {
  const file = scriptFile.parse(JSON.parse(text));
  return 'byTurn' in file ? byTurn(file.byTurn, file.other) : file.queue;
}

/** 400 is what no client tries again: a test whose script is too short fails at once and says why. */
export function exhausted(why: string): Answer {
  return status(
    400,
    {},
    { error: { message: `The script has no answer: ${why}`, type: 'script_exhausted' } },
  );
}

export async function answerOf(script: Script, request: ModelRequest, index: number): Promise<Answer> {
  if (typeof script === 'function') return await script(request, index);
  return script[index] ?? exhausted(`it has ${script.length} answers, this is request ${index} (from 0)`);
}

import { createHash } from 'node:crypto';

type Fetch = typeof globalThis.fetch;
type Json = Record<string, unknown>;

/** What some servers of a protocol want of a request that others do not want, or refuse. */
interface Demand {
  /** In what they say when they refuse a request for it. */
  readonly said: RegExp;
  /** The request as they take it. */
  met(body: Json): Json;
}

/** Most servers count tokens in a stream only when asked so; Mistral and Databricks count them anyway, and refuse the question. */
const NO_USAGE_OPTION: Demand = {
  said: /stream_options|include_usage/,
  met: (body) => {
    const { stream_options: _, ...rest } = body;
    return rest;
  },
};

/**
 * DeepSeek and Moonshot want each answer of a model that thinks back with its thoughts; Groq and Cerebras refuse the
 * member. An answer of another model, or of one that did not think, has none: so a blank stands for them.
 */
const THOUGHTS: Demand = {
  said: /reasoning_content/,
  met: (body) => ({
    ...body,
    messages: recordsIn(body['messages']).map((message) =>
      message['role'] === 'assistant' ? { reasoning_content: ' ', ...message } : message,
    ),
  }),
};

/** OpenAI's own newer models, at Azure and behind proxies, have this name for it; many other servers know the old one alone. */
const COMPLETION_TOKENS: Demand = {
  said: /max_completion_tokens/,
  met: (body) => {
    const { max_tokens, ...rest } = body;
    return { ...rest, max_completion_tokens: max_tokens };
  },
};

/** Mistral takes ids of its own form alone: those of other servers stand in a conversation that had another model. */
const NINE_CHARACTERS: Demand = {
  said: /tool call id.*length of 9/i,
  met: (body) => ({
    ...body,
    messages: recordsIn(body['messages']).map((message) => ({
      ...message,
      ...('tool_calls' in message && {
        tool_calls: recordsIn(message['tool_calls']).map((call) => ({ ...call, id: nine(call['id']) })),
      }),
      ...('tool_call_id' in message && { tool_call_id: nine(message['tool_call_id']) }),
    })),
  }),
};

/** Anthropic's, the same: Moonshot's `functions.name:0` is none that it takes. */
const PLAIN_IDS: Demand = {
  said: /tool_use(_id|\.id).*pattern/i,
  met: (body) => ({
    ...body,
    messages: recordsIn(body['messages']).map((message) => ({
      ...message,
      ...(Array.isArray(message['content']) && {
        content: recordsIn(message['content']).map((block) => ({
          ...block,
          ...(block['type'] === 'tool_use' && { id: plain(block['id']) }),
          ...(block['type'] === 'tool_result' && { tool_use_id: plain(block['tool_use_id']) }),
        })),
      }),
    })),
  }),
};

export const CHAT_DEMANDS: readonly Demand[] = [
  NO_USAGE_OPTION,
  THOUGHTS,
  COMPLETION_TOKENS,
  NINE_CHARACTERS,
];
export const ANTHROPIC_DEMANDS: readonly Demand[] = [PLAIN_IDS];

/** Sends a request again as the server demands it, when it refuses it for that; and those after it so from the first. */
export function meeting(demands: readonly Demand[], fetch: Fetch): Fetch {
  let learned: readonly Demand[] = [];
  return async (input, init) => {
    const { body } = init ?? {};
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) return await fetch(input, init);
    for (let tried = learned; ;) {
      const response = await fetch(input, tried.length === 0 ? init : { ...init, body: met(body, tried) });
      if (response.ok) learned = tried;
      if (response.status !== 400 && response.status !== 422) return response;
      const text = await response.text();
      const demand = demands.find((one) => !tried.includes(one) && one.said.test(text));
      if (!demand) return new Response(text, { status: response.status, headers: response.headers });
      tried = [...tried, demand];
    }
  };
}

function met(body: string | Uint8Array, demands: readonly Demand[]): string {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const request = JSON.parse(text) as Json;
  return JSON.stringify(demands.reduce((changed, demand) => demand.met(changed), request));
}

function recordsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The same id for the same one, so that a call and its result stay together. */
function nine(id: unknown): string {
  const text = String(id);
  return /^[A-Za-z0-9]{9}$/.test(text) ? text : createHash('sha256').update(text).digest('hex').slice(0, 9);
}

function plain(id: unknown): string {
  return String(id).replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

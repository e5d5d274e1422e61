import { randomUUID } from 'node:crypto';
import type { LanguageModelV4 } from '@ai-sdk/provider';

import { type Message, userText } from './message.ts';
import type { ModelClient } from './run-model.ts';

type Fetch = typeof globalThis.fetch;

/** Bytes of a body that is kept for the next one. A longer one is written anew each time. */
const MOST_KEPT = 8 * 1024 * 1024;

/** Messages, and what stands for them in a body: each with a comma after it. */
interface Written {
  messages: readonly Message[];
  json: Buffer;
}

const NOTHING: Written = { messages: [], json: Buffer.alloc(0) };

/** What a client is given to write: its last messages between two markers, which stand for `known` and are in no other body. */
interface Shortened {
  known: Written;
  messages: readonly Message[];
  before: string;
  after: string;
}

/** How a protocol writes a message of the user that is this text. */
type WriteText = (text: string) => string;

/** In Chat Completions. */
export const inChat: WriteText = (content) => JSON.stringify({ role: 'user', content });

/** In Responses. A message depends on others there by what is not asked for alone: stored items, OpenAI's own tools. */
export const inResponses: WriteText = (text) =>
  JSON.stringify({ role: 'user', content: [{ type: 'input_text', text }] });

/**
 * A client that writes each message of a history once, and not again at every step, as a history grows by its end. The
 * provider's client is given only the messages that the body before did not have; what that body has of the others is
 * put in their place. What is sent is, byte for byte, what the client makes of the whole: where a protocol writes a
 * message the same whatever stands beside it, and for those protocols alone. Messages are known again by identity; a
 * history that changed elsewhere than at its end is written anew.
 * @param open gives the provider's client, which calls by that fetch
 * @param written how the protocol writes a message of the user
 */
export function reusingPrefix(
  open: (fetch: Fetch) => LanguageModelV4,
  fetch: Fetch,
  written: WriteText,
): ModelClient {
  const underWay = new Set<Shortened>();
  let kept = NOTHING;
  let isWrittenSo = true;

  const client = open(async (input, init) => {
    const body = init?.body;
    if (typeof body !== 'string') return await fetch(input, init);
    const shortened = Array.from(underWay).find(({ before }) => body.includes(before));
    if (!shortened) return await fetch(input, init);
    const { messages, known, before, after } = shortened;
    const parts = between(body, `${written(before)},`, `${written(after)},`);
    if (!parts) throw new OtherwiseWritten();
    const [head, added, tail] = parts;
    const whole = Buffer.concat([head, known.json, added, tail]);
    const json = whole.subarray(head.length, whole.length - tail.length);
    kept = whole.length > MOST_KEPT ? NOTHING : { messages, json };
    return await fetch(input, { ...init, body: whole });
  });

  return {
    supportedUrls: client.supportedUrls,
    async doStream(options) {
      const [system, ...messages] = options.prompt;
      const last = messages.pop();
      if (!isWrittenSo || !system || !last || messages.length === 0) return await client.doStream(options);
      const known = beginsWith(messages, kept.messages) ? kept : NOTHING;
      const [before, after] = [`${randomUUID()}<`, `${randomUUID()}>`];
      const added = [userText(before), ...messages.slice(known.messages.length), userText(after)];
      const shortened: Shortened = { known, messages, before, after };
      underWay.add(shortened);
      try {
        return await client.doStream({ ...options, prompt: [system, ...added, last] });
      } catch (error) {
        if (!(error instanceof OtherwiseWritten)) throw error;
        isWrittenSo = false;
        return await client.doStream(options);
      } finally {
        underWay.delete(shortened);
      }
    },
  };
}

/** The markers are not in the body as they should be. Nothing was sent. */
class OtherwiseWritten extends Error {}

function beginsWith(messages: readonly Message[], first: readonly Message[]): boolean {
  return first.length <= messages.length && first.every((message, n) => message === messages[n]);
}

/** What stands before, between and after the two. */
function between(text: string, before: string, after: string): [Buffer, Buffer, Buffer] | null {
  const start = text.indexOf(before);
  const end = text.indexOf(after, start);
  if (start === -1 || end === -1) return null;
  return [
    Buffer.from(text.slice(0, start)),
    Buffer.from(text.slice(start + before.length, end)),
    Buffer.from(text.slice(end + after.length)),
  ];
}

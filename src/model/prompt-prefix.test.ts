import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';

import { fc } from '../../test/support/samples.ts';
import { CHAT_DEMANDS, meeting } from './demands.ts';
import { type Message, userText } from './message.ts';
import { inChat, inResponses, reusingPrefix } from './prompt-prefix.ts';
import type { ModelClient } from './run-model.ts';

type Fetch = typeof globalThis.fetch;

const chat = (fetch: Fetch): LanguageModelV4 =>
  createOpenAICompatible({ name: 'compatible', baseURL: 'http://model/v1', includeUsage: true, fetch })('m');
const responses = (fetch: Fetch): LanguageModelV4 =>
  createOpenAI({ baseURL: 'http://model/v1', apiKey: 'key', fetch })('gpt-5.1');
const PROTOCOLS = [
  { protocol: 'Chat Completions', opening: chat, written: inChat },
  { protocol: 'Responses', opening: responses, written: inResponses },
];

/** What is sent, as text. Each is answered by the end of a stream. */
function wire() {
  const bodies: string[] = [];
  const fetch: Fetch = async (_, init) => {
    const { body } = init ?? {};
    bodies.push(await new Response(body ?? null).text());
    return new Response('data: [DONE]\n\n', { headers: { 'content-type': 'text/event-stream' } });
  };
  return { bodies, fetch };
}

const system = (content: string): Message => ({ role: 'system', content });
const ask = async (client: ModelClient, prompt: Message[]) => {
  await client.doStream({
    prompt,
    tools: [{ type: 'function', name: 'think', inputSchema: { type: 'object' } }],
    providerOptions: { openai: { store: false } },
  });
};

const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const call = fc.record({
  type: fc.constant('tool-call' as const),
  toolCallId: text,
  toolName: text,
  input: fc.jsonValue(),
  providerOptions: fc.constantFrom({}, { google: { thoughtSignature: 's' } }, { openai: { itemId: 'i' } }),
});
const unit: fc.Arbitrary<Message[]> = fc.oneof(
  text.map((said) => [userText(said)]),
  text.map((said): Message[] => [{ role: 'assistant', content: [{ type: 'text', text: said }] }]),
  fc.uint8Array({ maxLength: 20 }).map((data): Message[] => [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look:' },
        { type: 'file', data: { type: 'data', data }, mediaType: 'image/png' },
      ],
    },
  ]),
  fc.tuple(text, fc.array(call, { minLength: 1, maxLength: 3 })).map(([said, calls]): Message[] => [
    { role: 'assistant', content: [{ type: 'text', text: said }, ...calls] },
    {
      role: 'tool',
      content: calls.map(({ toolCallId, toolName, input }) => ({
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: 'text', value: JSON.stringify(input) },
      })),
    },
  ]),
);
/** What happens to a history between two requests: it grows, or changes at some place, or is asked with again. */
const change = fc.oneof(
  { weight: 5, arbitrary: unit.map((messages) => (history: Message[]) => [...history, ...messages]) },
  { weight: 1, arbitrary: fc.constant((history: Message[]) => history) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(20), fc.nat(20), unit).map(
      ([at, left, messages]) =>
        (history: Message[]) =>
          history.toSpliced(at, left, ...messages),
    ),
  },
);

/** A client that notes how many messages it is given. */
function counting(opening = chat) {
  const given: number[] = [];
  const counted = (fetch: Fetch): LanguageModelV4 => {
    const client = opening(fetch);
    const doStream = client.doStream.bind(client);
    client.doStream = async (options) => {
      given.push(options.prompt.length);
      return await doStream(options);
    };
    return client;
  };
  return { given, counted };
}

const history = Array.from({ length: 50 }, (_, n) => userText(`Message ${n}.`));
const upTo = (n: number) => [system('You help.'), ...history.slice(0, n)];

const called: Message[] = [
  {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: 'a-long-id', toolName: 'think', input: {} }],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'a-long-id',
        toolName: 'think',
        output: { type: 'text', value: 'Done.' },
      },
    ],
  },
];

for (const { protocol, opening, written } of PROTOCOLS) {
  test(`what is sent is what the client of ${protocol} makes of the whole, however the history came to be`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(change, text), { minLength: 1, maxLength: 15 }), async (changes) => {
        const [reused, whole] = [wire(), wire()];
        const [client, bare] = [reusingPrefix(opening, reused.fetch, written), opening(whole.fetch)];
        let history: Message[] = [userText('Begin.')];
        for (const [changed, instructions] of changes) {
          history = changed(history);
          const last = history.at(-1);
          // As a step asks: the system's and the last message are new objects each time.
          const prompt = [system(instructions), ...history.slice(0, -1), ...(last ? [{ ...last }] : [])];
          await ask(client, prompt);
          await ask(bare, prompt);
        }
        assert.deepEqual(reused.bodies, whole.bodies);
      }),
      { numRuns: 100 },
    );
  });

  test(`a message is written once by the client of ${protocol}, for as long as the history only grows`, async () => {
    const { given, counted } = counting(opening);
    const client = reusingPrefix(counted, wire().fetch, written);
    await ask(client, upTo(48));
    await ask(client, upTo(49));
    await ask(client, upTo(50));
    await ask(client, [system('Other.'), ...history.slice(0, 40)]);
    // The system's, the last one, and two markers about those between them that are new.
    assert.deepEqual(given, [47 + 4, 1 + 4, 1 + 4, 39 + 4]);
  });
}

test('requests at once get in each other’s way no more than one after the other', async () => {
  const sent = wire();
  const client = reusingPrefix(chat, sent.fetch, inChat);
  const whole = wire();
  const bare = chat(whole.fetch);
  const prompts = [upTo(3), [system('A title.'), userText('Begin.')], upTo(4), upTo(2), upTo(5)];
  await Promise.all(prompts.map((prompt) => ask(client, prompt)));
  await Promise.all(prompts.map((prompt) => ask(bare, prompt)));
  assert.deepEqual(sent.bodies.toSorted(), whole.bodies.toSorted());
});

test('a request that fails, or is sent again as a server demands it, changes nothing of the next', async () => {
  const sentBy = async (opened: (fetch: Fetch) => ModelClient): Promise<string[]> => {
    const { bodies, fetch } = wire();
    const answers = [
      () => Promise.reject(new TypeError('fetch failed')),
      () => Promise.resolve(new Response('busy', { status: 503 })),
      () => Promise.resolve(new Response('a tool call id must have a length of 9', { status: 400 })),
    ];
    const unwilling: Fetch = async (...request) => {
      const answer = await fetch(...request);
      return (await answers.shift()?.()) ?? answer;
    };
    const client = opened(meeting(CHAT_DEMANDS, unwilling));
    const prompt = [...upTo(4), ...called, ...history.slice(4)];
    for (const n of [6, 7, 8, 9, 10]) await ask(client, prompt.slice(0, n)).catch(() => {});
    return bodies;
  };
  const sent = await sentBy((fetch) => reusingPrefix(chat, fetch, inChat));
  assert.equal(sent.length, 6);
  assert.deepEqual(sent, await sentBy(chat));
});

test('a history of many megabytes is written anew each time, and so is what follows it', async () => {
  const { given, counted } = counting();
  const sent = wire();
  const client = reusingPrefix(counted, sent.fetch, inChat);
  const large = userText('x'.repeat(9 * 1024 * 1024));
  for (const n of [3, 4]) await ask(client, [system('You help.'), large, ...history.slice(0, n)]);
  assert.deepEqual(given, [3 + 4, 4 + 4]);
  assert.deepEqual(
    sent.bodies.map((body) => body.includes('Message 2.') && body.length > 9 * 1024 * 1024),
    [true, true],
  );
});

test('a client that writes otherwise is given the whole, and no marker is ever sent', async () => {
  const { given, counted } = counting();
  const [sent, whole] = [wire(), wire()];
  const client = reusingPrefix(counted, sent.fetch, (content) => JSON.stringify({ content, role: 'user' }));
  const bare = chat(whole.fetch);
  for (const n of [3, 4]) {
    await ask(client, upTo(n));
    await ask(bare, upTo(n));
  }
  assert.deepEqual(sent.bodies, whole.bodies);
  assert.deepEqual(given, [2 + 4, 4, 5]);
});

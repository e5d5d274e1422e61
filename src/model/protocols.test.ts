import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Secret } from '../secrets/secret.ts';
import type { ModelCall } from './answer.ts';
import { type Message, userText } from './message.ts';
import { resolveModel } from './resolve.ts';
import { modelStep } from './step.ts';

/** One step of a model at its provider's own address, whose answer is these events; and what it was sent. */
async function step(
  name: string,
  events: readonly object[],
  messages: readonly Message[] = [userText('Hi')],
) {
  const sent: string[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(await new Response(init?.body ?? null).text());
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  const outcome = await modelStep({
    model: resolveModel({ name, baseUrl: null, apiKey: new Secret('key-0123456789') }, fetch),
    system: 'You help.',
    messages,
    tools: [{ type: 'function', name: 'think', inputSchema: { type: 'object' } }],
    signal: new AbortController().signal,
  });
  return { outcome, body: JSON.parse(sent[0] ?? 'null') as Record<string, unknown> };
}

/** What the model is told after its calls. */
function answered(calls: readonly ModelCall[]): Message[] {
  return [
    userText('Hi'),
    {
      role: 'assistant',
      content: calls.map(({ id: toolCallId, name: toolName, metadata, ...call }) => ({
        type: 'tool-call',
        toolCallId,
        toolName,
        input: call.valid ? call.input : {},
        ...(metadata && { providerOptions: metadata }),
      })),
    },
    {
      role: 'tool',
      content: calls.map(({ id: toolCallId, name: toolName }) => ({
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: 'text', value: 'Done.' },
      })),
    },
  ];
}

const inputs = (calls: readonly ModelCall[]) => calls.map((call) => (call.valid ? call.input : call.problem));

function google(parts: readonly object[], finishReason?: string) {
  const counts = { promptTokenCount: 100, candidatesTokenCount: 5, thoughtsTokenCount: 9 };
  return {
    candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata: { ...counts, cachedContentTokenCount: 40, totalTokenCount: 114 },
    responseId: 'answer-1',
  };
}

test("Google's own API: calls beside each other, thoughts left out, signatures back where they were", async () => {
  const model = 'gemini/gemini-3-pro-preview';
  const { outcome } = await step(model, [
    google([{ text: 'I think', thought: true }]),
    google([{ text: 'Well' }]),
    google([
      { functionCall: { name: 'think', args: { a: 1 } }, thoughtSignature: 'SIGNED' },
      { functionCall: { name: 'think', args: { a: 2 } } },
    ]),
    google([{ functionCall: { name: 'think' } }], 'STOP'),
  ]);
  assert.ok(outcome.ok);
  const { text, calls, usage, id } = outcome.step;
  assert.deepEqual([id, text, inputs(calls)], ['answer-1', 'Well', [{ a: 1 }, { a: 2 }, {}]]);
  assert.deepEqual(usage, {
    promptTokens: 100,
    completionTokens: 14,
    cacheReadTokens: 40,
    cacheWriteTokens: 0,
  });

  const { body } = await step(model, [google([{ text: 'Done' }], 'STOP')], answered(calls));
  const contents = body['contents'] as { role: string; parts: Record<string, unknown>[] }[];
  assert.deepEqual(
    contents.map(({ role }) => role),
    ['user', 'model', 'user'],
  );
  assert.deepEqual(
    contents[1]?.parts.map((part) => part['thoughtSignature']),
    ['SIGNED', undefined, undefined],
  );
});

const GOOGLE_ENDS: [string, string][] = [
  ['MAX_TOKENS', 'an answer'],
  ['SAFETY', 'content_policy'],
  ['PROHIBITED_CONTENT', 'content_policy'],
  ['MALFORMED_FUNCTION_CALL', 'interrupted'],
];
for (const [reason, kind] of GOOGLE_ENDS) {
  test(`an answer that Google ends by ${reason} is ${kind}`, async () => {
    const { outcome } = await step('gemini/gemini-3-pro-preview', [google([{ text: 'I' }], reason)]);
    assert.equal(outcome.ok ? 'an answer' : outcome.failure.kind, kind);
  });
}

const CREATED = {
  type: 'response.created',
  response: { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5' },
};
const USAGE = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
};

function openaiCall(n: number, pieces: readonly string[]) {
  const item = { type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: 'think' };
  const at = { output_index: n };
  return [
    { type: 'response.output_item.added', ...at, item: { ...item, arguments: '', status: 'in_progress' } },
    ...pieces.map((delta) => ({
      type: 'response.function_call_arguments.delta',
      item_id: item.id,
      ...at,
      delta,
    })),
    {
      type: 'response.output_item.done',
      ...at,
      item: { ...item, arguments: pieces.join(''), status: 'completed' },
    },
  ];
}

test("OpenAI's Responses: calls in pieces beside each other, that nothing is kept there and nothing of it named", async () => {
  const { outcome, body } = await step('openai/gpt-5', [
    CREATED,
    ...openaiCall(0, ['{"a":', '1}']),
    ...openaiCall(1, ['{"a"']),
    { type: 'response.completed', response: { usage: USAGE, incomplete_details: null } },
  ]);
  assert.ok(outcome.ok);
  const { calls, usage } = outcome.step;
  assert.deepEqual(
    calls.map(({ id, valid }) => [id, valid]),
    [
      ['call_0', true],
      ['call_1', false],
    ],
  );
  assert.deepEqual([usage.promptTokens, usage.completionTokens, usage.cacheReadTokens], [50, 9, 20]);
  assert.equal(body['store'], false);

  const next = await step('openai/gpt-5', [CREATED], answered(calls));
  const sent = JSON.stringify(next.body['input']);
  assert.match(sent, /"call_id":"call_0"/);
  assert.doesNotMatch(sent, /fc_|item_reference/);
});

test('a call that an answer cut at its greatest length leaves without an end is none that is made', async () => {
  const cut = { type: 'response.incomplete', response: { usage: USAGE } };
  const reason = { incomplete_details: { reason: 'max_output_tokens' } };
  for (const pieces of [[], ['{"a": "b'], ['{}']]) {
    const begun = openaiCall(0, pieces).slice(0, -1);
    const { outcome } = await step('openai/gpt-5', [
      CREATED,
      ...begun,
      { ...cut, response: { ...cut.response, ...reason } },
    ]);
    assert.ok(outcome.ok);
    assert.match(String(inputs(outcome.step.calls)[0]), /no end.*cut at its greatest length/);
  }
});

test('an answer that came to its greatest length before it said anything says so', async () => {
  const { outcome } = await step('gemini/gemini-3-pro-preview', [
    google([{ text: 'I think', thought: true }], 'MAX_TOKENS'),
  ]);
  assert.match(outcome.ok ? '' : outcome.failure.message, /greatest length/);
});

test('calls to which Anthropic, or who speaks as it does, gives one id get different ones', async () => {
  const call = (index: number) => [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: 'one', name: 'think', input: {} },
    },
    { type: 'content_block_stop', index },
  ];
  const usage = { input_tokens: 10, output_tokens: 1 };
  const { outcome } = await step('anthropic/claude-sonnet-4-5', [
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], usage },
    },
    ...call(0),
    ...call(1),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ]);
  assert.ok(outcome.ok);
  assert.equal(new Set(outcome.step.calls.map(({ id }) => id)).size, 2);
});

test('an answer without an end is broken off: one that says too much, and one that says nothing in too many bytes', async () => {
  const model = 'gemini/gemini-3-pro-preview';
  const long = google([{ text: 'x'.repeat(1_000_000) }]);
  const talks = await step(
    model,
    Array.from({ length: 9 }, () => long),
  );
  assert.match(talks.outcome.ok ? '' : talks.outcome.failure.message, /more than 8,000,000 characters/);

  let sent = 0;
  const megabyte = new TextEncoder().encode(`: ${'x'.repeat(1024 * 1024 - 3)}\n`);
  const endless: typeof globalThis.fetch = async () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 1;
          controller.enqueue(megabyte);
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    );
  const outcome = await modelStep({
    model: resolveModel({ name: model, baseUrl: null, apiKey: null }, endless),
    system: 'You help.',
    messages: [userText('Hi')],
    tools: [],
    signal: new AbortController().signal,
  });
  assert.match(outcome.ok ? '' : outcome.failure.message, /larger than 64 MiB/);
  assert.ok(sent < 80, `${sent} MiB were taken`);
});

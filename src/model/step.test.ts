import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  call,
  calls,
  cut,
  raw,
  say,
  shaped,
  silence,
  stall,
  status,
  torn,
  type Answer,
  type ShapeName,
} from '../../test/support/model-answers.ts';
import { startModelServer, type ModelServer } from '../../test/support/model-server.ts';
import { EgressRefused } from '../egress/policy.ts';
import { Secret } from '../secrets/secret.ts';
import { type ModelTool, userText } from './message.ts';
import { resolveModel } from './resolve.ts';
import type { ModelOutcome } from './answer.ts';
import { modelStep, type ModelRequest } from './step.ts';

const KEY = 'sk-test-0123456789abcdef';
const tools = ['execute_bash', 'think'].map((name): ModelTool => ({
  type: 'function',
  name,
  inputSchema: { type: 'object' },
}));

function requestTo(server: ModelServer, more: Partial<ModelRequest> = {}, name = 'scripted'): ModelRequest {
  return {
    model: resolveModel({ name, baseUrl: server.baseUrl, apiKey: new Secret(KEY) }, fetch),
    system: 'You help.',
    messages: [userText('Hi')],
    tools,
    signal: new AbortController().signal,
    ...more,
  };
}

async function ask(answer: Answer, more: Partial<ModelRequest> = {}, name?: string): Promise<ModelOutcome> {
  await using server = await startModelServer([answer]);
  return await modelStep(requestTo(server, more, name));
}

async function stepOf(answer: Answer, more: Partial<ModelRequest> = {}, name?: string) {
  const outcome = await ask(answer, more, name);
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome.step;
}

async function failureOf(answer: Answer, more: Partial<ModelRequest> = {}) {
  const outcome = await ask(answer, more);
  assert.ok(!outcome.ok, JSON.stringify(outcome));
  return outcome.failure;
}

function kindOf(outcome: ModelOutcome) {
  return outcome.ok ? 'an answer' : outcome.failure.kind;
}

test('gives the text, piece by piece and whole, with its usage', async () => {
  const pieces: string[] = [];
  const answer = say('Grüße, Welt 👋 und alle', { usage: { prompt: 50, completion: 7, cached: 40 } });
  const step = await stepOf(torn(3, answer), { onPiece: (piece) => pieces.push(piece) });
  assert.equal(step.text, 'Grüße, Welt 👋 und alle');
  assert.equal(pieces.join(''), step.text);
  assert.ok(pieces.length > 1);
  assert.deepEqual(step.calls, []);
  const usage = { promptTokens: 50, completionTokens: 7, cacheReadTokens: 40, cacheWriteTokens: 0 };
  assert.deepEqual(step.usage, usage);
  assert.equal(step.id, 'chatcmpl-0');
});

test('sends the system prompt, the messages, the tools and the key', async () => {
  await using server = await startModelServer([say('Hello')]);
  await modelStep(requestTo(server));
  const [request] = server.requests;
  assert.equal(request?.path, '/v1/chat/completions');
  assert.equal(request.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request.body.model, 'scripted');
  assert.deepEqual(request.body.messages, [
    { role: 'system', content: 'You help.' },
    { role: 'user', content: 'Hi' },
  ]);
  assert.equal(request.body.tools?.length, 2);
});

test('sends no key where there is none', async () => {
  await using server = await startModelServer([say('Hello')]);
  const model = resolveModel({ name: 'scripted', baseUrl: server.baseUrl, apiKey: null }, fetch);
  assert.ok((await modelStep(requestTo(server, { model }))).ok);
  assert.equal(server.requests[0]?.headers.authorization, undefined);
});

const SHAPES: ShapeName[] = ['openai', 'vllm', 'llama-cpp', 'gemini', 'mistral'];
for (const shape of SHAPES) {
  test(`keeps parallel calls in order, good and bad, as ${shape} writes them`, async () => {
    const answer = calls(
      [
        { name: 'execute_bash', input: { command: 'echo "a\\n"' } },
        { name: 'execute_bash', input: '{"command": "ls' },
        { name: 'no_such_tool', input: { x: 1 } },
        { name: 'think', input: '["hm"]' },
        { name: 'think', input: { thought: 'so' } },
      ],
      { text: 'Let me see.' },
    );
    const step = await stepOf(shaped(shape, answer));
    assert.equal(step.text, 'Let me see.');
    assert.deepEqual(
      step.calls.map((made) => [made.name, made.valid ? made.input : made.raw]),
      [
        ['execute_bash', { command: 'echo "a\\n"' }],
        ['execute_bash', '{"command": "ls'],
        ['no_such_tool', { x: 1 }],
        ['think', '["hm"]'],
        ['think', { thought: 'so' }],
      ],
    );
    const problems = step.calls.map((made) => (made.valid ? '' : made.problem));
    assert.match(problems[1] ?? '', /^The arguments are not JSON: /);
    assert.equal(problems[3], 'The arguments are no JSON object.');
    assert.equal(new Set(step.calls.map(({ id }) => id)).size, 5);
    assert.deepEqual(step.usage.promptTokens, 100);
  });
}

test("brings back Gemini's signature with the call it came with", async () => {
  await using server = await startModelServer([
    shaped('gemini', call('think', { thought: 'a' })),
    say('Done'),
  ]);
  const first = await modelStep(requestTo(server));
  const made = first.ok ? first.step.calls[0] : undefined;
  assert.ok(made?.valid && made.metadata);
  const { id: toolCallId, name: toolName, input, metadata: providerOptions } = made;
  const output = { type: 'text', value: 'ok' } as const;
  const second = await modelStep(
    requestTo(server, {
      messages: [
        userText('Hi'),
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input, providerOptions }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
      ],
    }),
  );
  assert.ok(second.ok);
  assert.match(JSON.stringify(server.requests[1]?.body.messages), /"thought_signature":"signature-0"/);
});

test('gives calls that share an id different ones', async () => {
  const same = { id: 'call', name: 'think', input: { thought: 'x' } };
  const step = await stepOf(shaped('gemini', calls([same, same, same])));
  assert.equal(new Set(step.calls.map(({ id }) => id)).size, 3);
});

test('says of a call that was cut at the greatest length that it was', async () => {
  const step = await stepOf(call('think', '{"thought": "on and', { finishReason: 'length' }));
  const [made] = step.calls;
  assert.match(
    made?.valid === false ? made.problem : '',
    /not JSON: .* \(the answer was cut at its greatest length/,
  );
});

test('speaks the Messages API with Anthropic, and marks what to cache', async () => {
  await using server = await startModelServer([
    call(
      'think',
      { thought: 'hm' },
      { text: 'Well', reasoning: 'Let us', usage: { prompt: 90, completion: 5, cached: 60 } },
    ),
  ]);
  const outcome = await modelStep(requestTo(server, {}, 'anthropic/claude-sonnet-4'));
  assert.ok(outcome.ok);
  assert.equal(outcome.step.text, 'Well');
  assert.deepEqual(outcome.step.calls, [
    { id: 'call_0_0', name: 'think', valid: true, input: { thought: 'hm' } },
  ]);
  const { promptTokens, cacheReadTokens } = outcome.step.usage;
  assert.deepEqual({ promptTokens, cacheReadTokens }, { promptTokens: 90, cacheReadTokens: 60 });
  const [request] = server.requests;
  assert.equal(request?.path, '/v1/messages');
  assert.equal(request.headers['x-api-key'], KEY);
  assert.equal(request.body.model, 'claude-sonnet-4');
  assert.equal(JSON.stringify(request.body).match(/"cache_control":\{"type":"ephemeral"\}/g)?.length, 2);
});

const REFUSALS: [string, Answer, string, string][] = [
  ['401', status(401), 'authentication', 'STATUS$ERROR_LLM_AUTHENTICATION'],
  ['402', status(402), 'out_of_credits', 'STATUS$ERROR_LLM_OUT_OF_CREDITS'],
  ['403', status(403), 'authentication', 'STATUS$ERROR_LLM_AUTHENTICATION'],
  ['404', status(404), 'bad_request', 'STATUS$ERROR'],
  ['429', status(429), 'rate_limited', 'CHAT_INTERFACE$AGENT_RATE_LIMITED_STOPPED_MESSAGE'],
  ['500', status(500), 'server_error', 'STATUS$ERROR_LLM_INTERNAL_SERVER_ERROR'],
  ['503', status(503), 'unavailable', 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE'],
  ['529', status(529), 'unavailable', 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE'],
  [
    'a page instead of JSON',
    status(502, {}, '<html>Bad gateway</html>'),
    'unavailable',
    'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE',
  ],
  [
    'no quota left',
    status(
      429,
      {},
      {
        error: {
          message: 'You exceeded your current quota, please check your plan.',
          code: 'insufficient_quota',
        },
      },
    ),
    'out_of_credits',
    'STATUS$ERROR_LLM_OUT_OF_CREDITS',
  ],
  [
    'too long, as OpenAI says',
    status(
      400,
      {},
      {
        error: {
          message: "This model's maximum context length is 8192 tokens.",
          code: 'context_length_exceeded',
        },
      },
    ),
    'context_length',
    'STATUS$ERROR',
  ],
  [
    'too long, as Anthropic says',
    status(
      400,
      {},
      {
        error: {
          message: 'prompt is too long: 212000 tokens > 200000 maximum',
          type: 'invalid_request_error',
        },
      },
    ),
    'context_length',
    'STATUS$ERROR',
  ],
  [
    'too long with its answer, as Anthropic says',
    status(
      400,
      {},
      {
        error: {
          message:
            'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
          type: 'invalid_request_error',
        },
      },
    ),
    'context_length',
    'STATUS$ERROR',
  ],
  [
    'too long, as xAI says',
    status(
      400,
      {},
      {
        error: {
          message: "This model's maximum prompt length is 131072 but the request contains 140011 tokens.",
          type: 'invalid_request_error',
        },
      },
    ),
    'context_length',
    'STATUS$ERROR',
  ],
  [
    'too long, as Moonshot says',
    status(
      400,
      {},
      {
        error: {
          message: 'Invalid request: Your request exceeded model token limit: 131072',
          type: 'invalid_request_error',
        },
      },
    ),
    'context_length',
    'STATUS$ERROR',
  ],
  [
    'a content filter',
    status(400, {}, { error: { message: 'The response was filtered', code: 'content_filter' } }),
    'content_policy',
    'STATUS$ERROR_LLM_CONTENT_POLICY_VIOLATION',
  ],
  [
    'an answer that is filtered',
    say('I', { finishReason: 'content_filter' }),
    'content_policy',
    'STATUS$ERROR_LLM_CONTENT_POLICY_VIOLATION',
  ],
  [
    'an error within the stream',
    raw(['data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n']),
    'unavailable',
    'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE',
  ],
  [
    'an error within the stream that has a status',
    raw(['data: {"error":{"message":"Provider returned error","code":429}}\n\n']),
    'rate_limited',
    'CHAT_INTERFACE$AGENT_RATE_LIMITED_STOPPED_MESSAGE',
  ],
  ['a cut before the answer', cut(0), 'unavailable', 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE'],
  ['a cut in the answer', cut(3), 'interrupted', 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE'],
  [
    'a cut in a call',
    cut(4, call('think', { thought: 'x' })),
    'interrupted',
    'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE',
  ],
  [
    'a stream without an end',
    raw(['data: {"choices":[{"index":0,"delta":{"content":"I"}}]}\n\n']),
    'interrupted',
    'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE',
  ],
  ['an empty answer', say(''), 'unavailable', 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE'],
  ['an empty stream', raw([]), 'unavailable', 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE'],
];
for (const [name, answer, kind, runtimeStatus] of REFUSALS) {
  test(`${name} is ${kind}`, async () => {
    const failure = await failureOf(answer);
    assert.deepEqual([failure.kind, failure.runtimeStatus], [kind, runtimeStatus]);
  });
}

test('an address that the rules forbid is said as the rules say it', async () => {
  const forbidding: typeof fetch = () =>
    Promise.reject(new EgressRefused('10.0.0.1', 80, '10.0.0.1 is private'));
  const model = resolveModel({ name: 'm', baseUrl: 'http://10.0.0.1/v1', apiKey: null }, forbidding);
  await using server = await startModelServer();
  const outcome = await modelStep(requestTo(server, { model }));
  assert.ok(!outcome.ok);
  assert.deepEqual(
    [outcome.failure.kind, outcome.failure.message],
    ['host_not_allowed', 'The model was not called at llm_base_url: 10.0.0.1 is private.'],
  );
});

test('a server that is not there is unavailable', async () => {
  const server = await startModelServer();
  await server.close();
  const outcome = await modelStep(requestTo(server));
  assert.equal(!outcome.ok && outcome.failure.kind, 'unavailable');
});

test('says how long the provider asks to wait', async () => {
  assert.equal((await failureOf(status(429, { 'retry-after': '7' }))).retryAfterMs, 7_000);
  assert.equal((await failureOf(status(503, { 'retry-after-ms': '250' }))).retryAfterMs, 250);
  assert.equal(
    (await failureOf(status(429, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }))).retryAfterMs,
    0,
  );
  assert.equal((await failureOf(status(429, { 'retry-after': 'soon' }))).retryAfterMs, null);
});

test('never tells the key, and of what the provider says only the beginning', async () => {
  const echo = `no model; key ${KEY}, or sk-te***cdef${' and so on'.repeat(100)}\nrequest: secret prompt`;
  const failure = await failureOf(status(404, {}, { error: { message: echo } }));
  assert.match(failure.message, /no model; key <secret_hidden>, or <secret_hidden> and so on/);
  assert.doesNotMatch(failure.message, /sk-te|secret prompt/);
  assert.ok(failure.message.length < 500);
});

test('a model that is silent, before or within its answer, is given up', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await using server = await startModelServer([silence(), stall(3), stall(3)]);
  const unanswered = modelStep(requestTo(server, { deadlines: { idle: 100, total: 60_000 } }));
  await server.until((requests) => requests.length === 1);
  t.mock.timers.tick(100);
  assert.equal(kindOf(await unanswered), 'unavailable');
  for (const deadlines of [
    { idle: 100, total: 60_000 },
    { idle: 60_000, total: 100 },
  ]) {
    const begun = Promise.withResolvers<void>();
    const broken = modelStep(requestTo(server, { deadlines, onPiece: () => begun.resolve() }));
    await begun.promise;
    t.mock.timers.tick(100);
    assert.equal(kindOf(await broken), 'interrupted');
  }
});

test('an abort rejects with its reason, and lets go of the connection', async () => {
  await using server = await startModelServer([stall(3)]);
  const leaving = new AbortController();
  const step = modelStep(
    requestTo(server, { signal: leaving.signal, onPiece: () => leaving.abort('stopped') }),
  );
  await assert.rejects(step, (reason) => reason === 'stopped');
  await server.until((requests) => requests[0]?.abandoned === true);
  await assert.rejects(
    modelStep(requestTo(server, { signal: leaving.signal })),
    (reason) => reason === 'stopped',
  );
  assert.equal(server.requests.length, 1);
});

test('fetches images by the fetch that was given, and goes on without what cannot be had', async () => {
  await using server = await startModelServer([say('A cat.'), say('Nothing.')]);
  const asked: string[] = [];
  const guarded: typeof fetch = async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    if (url.startsWith(server.baseUrl)) return await fetch(input, init);
    asked.push(url);
    if (url.endsWith('/none.png')) return new Response('', { status: 404 });
    return new Response(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), {
      headers: { 'content-type': 'image/png' },
    });
  };
  const model = resolveModel({ name: 'scripted', baseUrl: server.baseUrl, apiKey: null }, guarded);
  const look = (url: string) =>
    requestTo(server, {
      model,
      messages: [
        {
          role: 'user',
          content: [{ type: 'file', data: { type: 'url', url: new URL(url) }, mediaType: 'image' }],
        },
      ],
    });
  assert.ok((await modelStep(look('https://pictures.example/cat.png'))).ok);
  assert.match(JSON.stringify(server.requests[0]?.body.messages), /data:image\/png;base64,iVBORw==/);

  const outcome = await modelStep(look('https://pictures.example/none.png'));
  assert.ok(outcome.ok);
  assert.deepEqual(model.sight.notices, [
    'The image at pictures.example was answered with 404. The model goes on without it.',
  ]);
  assert.deepEqual(asked, ['https://pictures.example/cat.png', 'https://pictures.example/none.png']);
});

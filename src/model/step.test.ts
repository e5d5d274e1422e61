import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  call,
  calls,
  say,
  shaped,
  silence,
  stall,
  torn,
  type Answer,
  type ShapeName,
} from '../../test/support/model/answers.ts';
import { ask, MODEL_KEY, requestTo } from '../../test/support/model/request.ts';
import { startModelServer } from '../../test/support/model/server.ts';
import { userText } from './message.ts';
import { resolveModel } from './resolve.ts';
import type { ModelOutcome } from './answer.ts';
import { modelStep, type ModelRequest } from './step.ts';

async function stepOf(answer: Answer, more: Partial<ModelRequest> = {}, name?: string) {
  const outcome = await ask(answer, more, name);
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome.step;
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

test('a call whose arguments are nested too deep to be stored is told so, as any that is not valid', async () => {
  const input = `{"command": ${'['.repeat(500)}${']'.repeat(500)}}`;
  const step = await stepOf(calls([{ name: 'think', input }]));
  const [made] = step.calls;
  assert.ok(made && !made.valid);
  assert.equal(made.problem, 'The arguments are nested deeper than 100 levels.');
});

for (const usage of [
  { prompt: -5, completion: 7 },
  { prompt: 50, completion: 1e308 },
  { prompt: 50, completion: 7, cached: -40 },
  { prompt: 2 ** 53, completion: 7 },
  { prompt: 1.5, completion: 7 },
]) {
  test(`takes what is no count of tokens for none at all: ${JSON.stringify(usage)}`, async () => {
    const step = await stepOf(say('Hello', { usage }));
    const none = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    assert.deepEqual(step.usage, none);
  });
}

test('sends the system prompt, the messages, the tools and the key', async () => {
  await using server = await startModelServer([say('Hello')]);
  await modelStep(requestTo(server));
  const [request] = server.requests;
  assert.equal(request?.path, '/v1/chat/completions');
  assert.equal(request.headers.authorization, `Bearer ${MODEL_KEY}`);
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
  assert.equal(request.headers['x-api-key'], MODEL_KEY);
  assert.equal(request.body.model, 'claude-sonnet-4');
  assert.equal(JSON.stringify(request.body).match(/"cache_control":\{"type":"ephemeral"\}/g)?.length, 2);
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

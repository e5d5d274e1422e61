import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type Answer, call, cut, raw, say, status } from '../../test/support/model/answers.ts';
import { ask, MODEL_KEY, requestTo } from '../../test/support/model/request.ts';
import { startModelServer } from '../../test/support/model/server.ts';
import { ownPort } from '../../test/support/own-port.ts';
import { EgressRefused } from '../egress/policy.ts';
import { resolveModel } from './resolve.ts';
import { modelStep } from './step.ts';

async function failureOf(answer: Answer) {
  const outcome = await ask(answer);
  assert.ok(!outcome.ok, JSON.stringify(outcome));
  return outcome.failure;
}

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
  // At a port of its own: when it has gone, nobody else is found there.
  const server = await startModelServer([], await ownPort());
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
  const echo = `no model; key ${MODEL_KEY}, or sk-te***cdef${' and so on'.repeat(100)}\nrequest: secret prompt`;
  const failure = await failureOf(status(404, {}, { error: { message: echo } }));
  assert.match(failure.message, /no model; key <secret_hidden>, or <secret_hidden> and so on/);
  assert.doesNotMatch(failure.message, /sk-te|secret prompt/);
  assert.ok(failure.message.length < 500);
});

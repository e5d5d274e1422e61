import assert from 'node:assert/strict';
import { test } from 'node:test';

import { say, status } from '../../test/support/model/answers.ts';
import { startModelServer } from '../../test/support/model/server.ts';
import { ServiceError } from '../errors.ts';
import { Secret } from '../secrets/secret.ts';
import { userText } from './message.ts';
import { resolveModel } from './resolve.ts';
import { modelStep } from './step.ts';

/** The one request that a step sends, by what was given to `fetch`. */
async function requestOf(name: string, baseUrl: string | null, apiKey: Secret | null) {
  const sent: { url: string; headers: Headers; body: string }[] = [];
  const noting: typeof fetch = async (input, init) => {
    assert.ok(!(input instanceof Request) && typeof init?.body === 'string');
    sent.push({ url: String(input), headers: new Headers(init.headers), body: init.body });
    return await Promise.resolve(new Response('{}', { status: 401 }));
  };
  await modelStep({
    model: resolveModel({ name, baseUrl, apiKey }, noting),
    system: 'You help.',
    messages: [userText('Hi')],
    tools: [],
    signal: new AbortController().signal,
  });
  const [request, ...more] = sent;
  assert.ok(request && more.length === 0);
  return request;
}

const key = new Secret('sk-0123456789');

test('each protocol goes to its address, with the key where it belongs', async () => {
  const openai = await requestOf('openai/gpt-5', null, key);
  assert.equal(openai.url, 'https://api.openai.com/v1/responses');
  assert.equal(openai.headers.get('authorization'), 'Bearer sk-0123456789');
  assert.match(openai.body, /"store":false/);

  const anthropic = await requestOf('anthropic/claude-sonnet-4', null, key);
  assert.equal(anthropic.url, 'https://api.anthropic.com/v1/messages');
  assert.equal(anthropic.headers.get('x-api-key'), 'sk-0123456789');

  const google = await requestOf('gemini/gemini-2.5-pro', null, key);
  assert.match(
    google.url,
    /^https:\/\/generativelanguage\.googleapis\.com\/v1beta\/models\/gemini-2\.5-pro:stream/,
  );
  assert.equal(google.headers.get('x-goog-api-key'), 'sk-0123456789');
  assert.doesNotMatch(google.url, /sk-/);

  const openrouter = await requestOf('openrouter/anthropic/claude-sonnet-4', null, key);
  assert.equal(openrouter.url, 'https://openrouter.ai/api/v1/chat/completions');
  assert.match(openrouter.body, /"model":"anthropic\/claude-sonnet-4"/);

  const own = await requestOf('openai/gpt-5', 'https://proxy.example/v1', key);
  assert.equal(own.url, 'https://proxy.example/v1/chat/completions');
});

test("the keys and addresses of the service's environment are never used", async (t) => {
  const names = ['OPENAI', 'ANTHROPIC'].flatMap((name) => [`${name}_API_KEY`, `${name}_BASE_URL`]);
  for (const name of [...names, 'GOOGLE_GENERATIVE_AI_API_KEY']) {
    const before = process.env[name];
    process.env[name] = 'http://leak.example';
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  for (const name of [
    'openai/gpt-5',
    'anthropic/claude-sonnet-4',
    'gemini/gemini-2.5-pro',
    'mistral/devstral',
  ]) {
    const { url, headers } = await requestOf(name, null, null);
    assert.doesNotMatch(url + JSON.stringify([...headers]), /leak/, name);
  }
});

test('a model that nothing locates is refused with what to set', () => {
  const refused = (name: string, detail: RegExp) =>
    assert.throws(
      () => resolveModel({ name, baseUrl: null, apiKey: null }, fetch),
      (error) =>
        error instanceof ServiceError && error.code === 'invalid_request' && detail.test(error.message),
    );
  refused(
    'qwen3',
    /^No provider is known for the model "qwen3": set llm_base_url, or begin llm_model with one of/,
  );
  refused(
    'litellm_proxy/gpt-4o',
    /^Models of litellm_proxy have no address of their own: set llm_base_url\.$/,
  );
});

test('a provider of the SDK is loaded once, when it is first needed', async () => {
  const model = resolveModel({ name: 'm', baseUrl: 'http://h/v1', apiKey: null }, fetch);
  assert.equal(await model.open(), await model.open());
});

test('a server that refuses to be asked for usage is not asked again', async () => {
  const refusal = status(
    422,
    {},
    { detail: [{ loc: ['body', 'stream_options', 'include_usage'], msg: 'Extra inputs' }] },
  );
  await using server = await startModelServer([refusal, say('One'), say('Two'), status(422)]);
  const model = resolveModel({ name: 'mistral/m', baseUrl: server.baseUrl, apiKey: null }, fetch);
  const ask = async () =>
    await modelStep({
      model,
      system: 'You help.',
      messages: [userText('Hi')],
      tools: [],
      signal: new AbortController().signal,
    });
  const first = await ask();
  assert.ok(first.ok && first.step.text === 'One');
  assert.ok((await ask()).ok);
  const third = await ask();
  assert.match(third.ok ? '' : third.failure.message, /scripted 422/);
  assert.deepEqual(
    server.requests.map(({ body }) => body.stream_options?.include_usage ?? null),
    [true, null, null, null],
  );
});

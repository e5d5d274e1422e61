import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cut, say, status } from '../../support/model/answers.ts';
import type { ModelRequest } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley, type View } from '../../support/parley.ts';

describe('the model that decides', () => {
  let first: ModelServer;
  let second: ModelServer;
  let parley: Parley;
  before(async () => {
    [first, second] = await Promise.all([
      startModelServer(() => say('One.')),
      startModelServer(() => say('Two.')),
    ]);
    parley = await startParley();
  });
  after(async () => {
    await parley.close();
    await first.close();
    await second.close();
  });

  const rest = (id: string): Promise<View> =>
    parley.until(id, ({ agent_state }) => ['awaiting_user_input', 'error'].includes(agent_state));
  const run = async (id: string, settings: object): Promise<View> => {
    await parley.ok('PATCH', '/api/settings', settings);
    await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Go.' });
    return await rest(id);
  };
  const last = ({ requests }: ModelServer): ModelRequest =>
    requests.at(-1) ?? assert.fail('it was not asked');
  const origin = ({ baseUrl }: ModelServer): string => new URL(baseUrl).origin;

  const routes = [
    { model: 'a-name-of-its-own', path: '/v1/chat/completions', asks: 'a-name-of-its-own', base: '/v1' },
    { model: 'openai/gpt-x', path: '/v1/chat/completions', asks: 'gpt-x', base: '/v1' },
    { model: 'litellm_proxy/team/model', path: '/chat/completions', asks: 'team/model', base: '' },
    { model: 'ollama/llama3', path: '/v1/chat/completions', asks: 'llama3', base: '' },
    { model: 'anthropic/claude-x', path: '/v1/messages', asks: 'claude-x', base: '' },
  ];
  for (const [n, { model, path, asks, base }] of routes.entries()) {
    it(`is asked by its name, in its provider's way, with its key: ${model}`, async () => {
      await run(`route-${n}`, {
        llm_model: model,
        llm_api_key: `key-of-${n}`,
        llm_base_url: `${origin(first)}${base}`,
      });
      const request = last(first);
      assert.deepEqual([request.path, request.body.model], [path, asks]);
      const { authorization, 'x-api-key': key } = request.headers;
      assert.equal(path.endsWith('/messages') ? key : authorization?.slice('Bearer '.length), `key-of-${n}`);
    });
  }

  it('is another from the next run on, and no key goes from the one to the other', async () => {
    await run('moves', { llm_model: 'x', llm_api_key: 'key-of-the-first', llm_base_url: first.baseUrl });
    const refused = await parley.request('PATCH', '/api/settings', { llm_base_url: second.baseUrl });
    assert.equal(refused.status, 422);
    await parley.ok('PATCH', '/api/settings', {
      llm_model: 'y',
      llm_api_key: 'key-of-the-second',
      llm_base_url: second.baseUrl,
    });
    await parley.ok('POST', '/api/conversations/moves/message', { message: 'And now?' });
    await second.request(0);
    await rest('moves');
    const { body, headers } = last(second);
    assert.deepEqual([body.model, headers.authorization], ['y', 'Bearer key-of-the-second']);
    assert.match(JSON.stringify(body.messages), /One\.[^]*And now\?/);
    assert.ok(second.requests.every((request) => !JSON.stringify(request.headers).includes('of-the-first')));
  });

  it('is asked again when it is busy, breaks off, or has an error of its own', async () => {
    first.play([
      cut(2),
      status(429, { 'retry-after-ms': '5' }),
      status(503, { 'retry-after-ms': '5' }),
      status(500, { 'retry-after-ms': '5' }),
      say('At last.'),
    ]);
    const before = first.requests.length;
    const { agent_state } = await run('retries', {
      llm_model: 'x',
      llm_api_key: 'key-of-retries',
      llm_base_url: first.baseUrl,
    });
    assert.equal(agent_state, 'awaiting_user_input');
    assert.equal(first.requests.length, before + 5);
  });

  it('that refuses the key ends the run, as V0 says it', async () => {
    first.play(() => status(401, {}, { error: { message: 'Incorrect API key', code: 'invalid_api_key' } }));
    const view = await run('refused', {
      llm_model: 'x',
      llm_api_key: 'key-that-is-refused',
      llm_base_url: first.baseUrl,
    });
    assert.deepEqual([view.agent_state, view.runtime_status], ['error', 'STATUS$ERROR_LLM_AUTHENTICATION']);
    assert.match(view.error?.hint ?? '', /llm_api_key/);
    assert.doesNotMatch(JSON.stringify(await parley.events('refused')), /key-that-is-refused/);
  });
});

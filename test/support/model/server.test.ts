import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attempts, call, cut, gate, say, silence, status, torn } from './answers.ts';
import { spawnModelServer } from './process.ts';
import { byTurn } from './script.ts';
import { startModelServer } from './server.ts';

const user = { role: 'user', content: 'Hi' };
const assistant = { role: 'assistant', content: 'Hello' };

function post(baseUrl: string, body: object, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body), signal });
}

async function text(baseUrl: string, body: object): Promise<string> {
  return await (await post(baseUrl, body)).text();
}

test('streams events, usage when asked for, and the end mark', async () => {
  await using server = await startModelServer([say('Hello you'), say('Hello you')]);
  const plain = await text(server.baseUrl, { stream: true, messages: [user] });
  assert.match(plain, /"content":"Hello you"/);
  assert.match(plain, /data: \[DONE\]\n\n$/);
  assert.doesNotMatch(plain, /prompt_tokens/);
  const counted = await text(server.baseUrl, {
    stream: true,
    stream_options: { include_usage: true },
    messages: [user],
  });
  assert.match(counted, /"choices":\[\],"usage":\{"prompt_tokens":100/);
});

test('answers whole without stream, and says why when the script has ended', async () => {
  await using server = await startModelServer([call('execute_bash', { command: 'ls' })]);
  const whole = await text(server.baseUrl, { messages: [user] });
  assert.match(whole, /"arguments":"\{\\"command\\":\\"ls\\"\}"/);
  const over = await post(server.baseUrl, { messages: [user] });
  assert.equal(over.status, 400);
  assert.match(await over.text(), /it has 1 answers, this is request 1/);
});

test('by turn, the answer depends on the request alone', async () => {
  await using server = await startModelServer(
    byTurn([attempts(status(503), say('first')), say('second')], say('title')),
  );
  const tools = [{ type: 'function' }];
  const ask = (messages: object[], more: object = { tools }) => text(server.baseUrl, { messages, ...more });
  assert.match(await ask([user, assistant, user]), /second/);
  assert.match(await ask([user]), /scripted 503/);
  assert.match(await ask([user]), /first/);
  assert.match(await ask([user, assistant, user]), /second/);
  assert.match(await ask([user], {}), /title/);
});

test('pieces of a few bytes add up to the same stream', async () => {
  await using server = await startModelServer([say('Grüße 👋'), torn(3, say('Grüße 👋'))]);
  const body = { stream: true, messages: [user] };
  assert.equal(await text(server.baseUrl, body), await text(server.baseUrl, body));
});

test('a gate holds the request until it is opened; one who leaves is noticed', async () => {
  await using server = await startModelServer([gate('go', say('through')), silence(), cut(1), cut(0)]);
  const held = text(server.baseUrl, { messages: [user] });
  await server.request(0);
  server.open('go');
  assert.match(await held, /through/);

  const leaving = new AbortController();
  const silent = post(server.baseUrl, { messages: [user] }, leaving.signal);
  const gone = assert.rejects(silent, { name: 'AbortError' });
  await server.request(1);
  leaving.abort();
  await gone;
  await server.until((requests) => requests[1]?.abandoned === true);

  await assert.rejects(text(server.baseUrl, { stream: true, messages: [user] }));
  await assert.rejects(text(server.baseUrl, { stream: true, messages: [user] }));
});

test('serves from a process of its own', async () => {
  await using server = await spawnModelServer({ byTurn: [gate('go', say('from afar'))] });
  const held = text(server.baseUrl, { messages: [user] });
  await server.open('go');
  assert.match(await held, /from afar/);
  assert.deepEqual(
    (await server.requests()).map((request) => request.body.messages),
    [[user]],
  );
});

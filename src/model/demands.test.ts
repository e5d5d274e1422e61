import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ANTHROPIC_DEMANDS, CHAT_DEMANDS, meeting } from './demands.ts';

/** A server that takes what `refusal` finds nothing wrong with, and what was sent to it. */
function server(demands: typeof CHAT_DEMANDS, refusal: (body: string) => string | null) {
  const bodies: string[] = [];
  const fetch = meeting(demands, async (_, init) => {
    const body = await new Response(init?.body ?? null).text();
    bodies.push(body);
    const refused = refusal(body);
    return new Response(refused ?? 'fine', { status: refused === null ? 200 : 400 });
  });
  const send = async (body: object) =>
    await fetch('http://model/', { method: 'POST', body: JSON.stringify(body) });
  return { bodies, fetch, send, last: () => JSON.parse(bodies.at(-1) ?? 'null') as unknown };
}

interface Sent {
  messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[];
}

const asked = (id: string, more: object = {}) => ({
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function' }], ...more },
    { role: 'tool', tool_call_id: id, content: 'Done.' },
    { role: 'assistant', content: 'So.' },
  ],
});

test('thoughts are blank for who wants them back, in all answers, and stand nowhere for others', async () => {
  const wants = server(CHAT_DEMANDS, (body) =>
    body.includes('reasoning_content') ? null : 'reasoning_content is missing in assistant tool call message',
  );
  assert.equal((await wants.send(asked('call_1'))).status, 200);
  assert.equal((await wants.send(asked('call_1', { reasoning_content: 'hm' }))).status, 200);
  assert.equal(wants.bodies.length, 3);
  const { messages } = asked('call_1', { reasoning_content: 'hm' });
  assert.deepEqual(wants.last(), {
    messages: messages.map((one, n) => (n === 3 ? { reasoning_content: ' ', ...one } : one)),
  });

  const takes = server(CHAT_DEMANDS, () => null);
  await takes.send(asked('call_1'));
  assert.deepEqual(takes.bodies, [JSON.stringify(asked('call_1'))]);
});

test("ids of another server's calls get the form that a server takes, those of its own stay", async () => {
  const mistral = server(CHAT_DEMANDS, (body) =>
    body.includes('"call_1"')
      ? 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.'
      : null,
  );
  assert.equal((await mistral.send(asked('call_1'))).status, 200);
  const [, call, result] = (mistral.last() as Sent).messages;
  assert.match(result?.tool_call_id ?? '', /^[a-z0-9]{9}$/);
  assert.equal(call?.tool_calls?.[0]?.id, result?.tool_call_id);
  await mistral.send(asked('Ab3dEf7hI'));
  assert.deepEqual(mistral.last(), asked('Ab3dEf7hI'));

  const anthropic = server(ANTHROPIC_DEMANDS, (body) =>
    body.includes(':0"')
      ? "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
      : null,
  );
  const spoken = (id: string) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a:0' },
          { type: 'tool_use', id },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'Done.' }] },
    ],
  });
  await anthropic.send(spoken('functions.think:0'));
  assert.deepEqual(anthropic.last(), spoken('functions_think_0'));
});

test('two demands are met together, and a refusal that no demand is in comes back as it was', async () => {
  const strict = server(CHAT_DEMANDS, (body) => {
    if (body.includes('stream_options')) return 'stream_options: Extra inputs are not permitted';
    return body.includes('reasoning_content') ? null : 'Missing `reasoning_content` field';
  });
  const body = { ...asked('call_1'), stream_options: { include_usage: true } };
  assert.equal((await strict.send(body)).status, 200);
  await strict.send(body);
  assert.equal(strict.bodies.length, 4);

  const stubborn = server(CHAT_DEMANDS, () => 'reasoning_content is not what I mean');
  const refused = await stubborn.send(asked('call_1'));
  assert.deepEqual(
    [refused.status, await refused.text(), stubborn.bodies.length],
    [400, 'reasoning_content is not what I mean', 2],
  );
  await stubborn.send(asked('call_1'));
  assert.equal(stubborn.bodies[2], stubborn.bodies[0], 'what did not help is not kept');
});

test('the longest answer goes by the name that the server has for it, and is not said where it was not', async () => {
  const azure = server(CHAT_DEMANDS, (body) =>
    body.includes('"max_tokens"')
      ? "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
      : null,
  );
  assert.equal((await azure.send({ messages: [], max_tokens: 5 })).status, 200);
  assert.deepEqual(azure.last(), { messages: [], max_completion_tokens: 5 });
  await azure.send({ messages: [] });
  assert.deepEqual(azure.last(), { messages: [] });
});

test('a request of bytes is met as one of text is', async () => {
  const strict = server(CHAT_DEMANDS, (body) =>
    body.includes('"max_tokens"') ? 'max_completion_tokens' : null,
  );
  const body = new TextEncoder().encode('{"messages":["été"],"max_tokens":5}');
  assert.equal((await strict.fetch('http://model/', { method: 'POST', body })).status, 200);
  assert.deepEqual(strict.last(), { messages: ['été'], max_completion_tokens: 5 });
});

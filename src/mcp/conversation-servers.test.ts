import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

import { plainTool, type ScriptedMcp, startScriptedMcp } from '../../test/support/mcp-servers.ts';
import { Secret } from '../secrets/secret.ts';
import type { Ways } from './client.ts';
import { ConversationServers } from './conversation-servers.ts';
import { type McpServer, namedServers } from './server.ts';

const never = new AbortController().signal;
const ways: Ways = { sandbox: () => Promise.reject(new Error('no sandbox here')), fetch };
const reserved = new Set(['think']);
const remote = (url: string, apiKey: string | null = null): McpServer => ({
  kind: 'shttp',
  url,
  apiKey: apiKey === null ? null : new Secret(apiKey),
  callMs: null,
});

async function serve(t: TestContext, ...tools: object[]): Promise<ScriptedMcp> {
  const server = await startScriptedMcp(tools);
  t.after(() => server.close());
  return server;
}

function conversation(t: TestContext) {
  const servers = new ConversationServers({ connectMs: 60_000, retryMs: 60_000, callMs: 60_000 }, () => {});
  t.after(() => servers.close());
  const begin = (all: readonly McpServer[], redact = (text: string) => text) =>
    servers.begin({ servers: namedServers(all, []), ways, reserved, redact }, never);
  const names = () => servers.tools.map(({ offered }) => offered);
  return { servers, begin, names };
}
const hostOf = ({ url }: ScriptedMcp): string => new URL(url).host;
const prefix = (server: ScriptedMcp): string => `_${hostOf(server).replaceAll(/[.:]/g, '_')}`;

test('names that clash are prefixed, names that no provider takes are made plain, and all differ', async (t) => {
  const a = await serve(
    t,
    plainTool('search'),
    plainTool('think'),
    plainTool('a.b/c d'),
    plainTool('a_b_c_d'),
  );
  const b = await serve(t, plainTool('search'), plainTool('x'.repeat(200)), plainTool('2fa'));
  const { begin, names } = conversation(t);
  await begin([remote(a.url), remote(b.url)]);
  assert.deepEqual(names(), [
    `${prefix(a)}_search`,
    `${prefix(a)}_think`,
    `${prefix(a)}_a_b_c_d`,
    `${prefix(a)}_a_b_c_d_2`,
    `${prefix(b)}_search`,
    'x'.repeat(64),
    '_2fa',
  ]);
});

test('a call that waited reaches the tool it was for, however tools are called by then', async (t) => {
  const a = await serve(t, plainTool('search'));
  const b = await serve(t, plainTool('search'));
  const { servers, begin, names } = conversation(t);
  await begin([remote(a.url)]);
  assert.deepEqual(names(), ['search']);
  await begin([remote(a.url), remote(b.url)]);
  assert.equal((await servers.call('search', hostOf(a), { q: 1 }, never)).kind, 'answered');
  assert.deepEqual([a.calls().length, b.calls().length], [1, 0]);
  await begin([remote(b.url)]);
  assert.deepEqual(names(), ['search']);
  assert.deepEqual(await servers.call('search', hostOf(a), { q: 2 }, never), {
    kind: 'failed',
    reason: 'There is no tool search any more.',
    effect: 'none',
  });
  assert.equal(b.calls().length, 0);
});

test('a server stays connected from run to run, and is left when it is configured otherwise', async (t) => {
  const server = await serve(t, plainTool('one'));
  const handshakes = () => server.requests.filter(({ method }) => method === 'initialize').length;
  const { begin, names } = conversation(t);
  await begin([remote(server.url, 'key-0123456789')]);
  await begin([remote(server.url, 'key-0123456789')]);
  assert.equal(handshakes(), 1);
  await begin([remote(server.url, 'another-key-0123')]);
  assert.equal(handshakes(), 2);
  assert.equal(server.requests.at(-1)?.headers.authorization, 'Bearer another-key-0123');
  await begin([]);
  assert.deepEqual(names(), []);
});

test('two hundred tools are offered, and the rest is said', async (t) => {
  const server = await serve(t, ...Array.from({ length: 250 }, (_, n) => plainTool(`tool-${n}`)));
  const { servers, begin, names } = conversation(t);
  await begin([remote(server.url)]);
  assert.equal(names().length, 200);
  const [connection] = servers.connections;
  assert.equal(connection && servers.leftOutOf(connection).length, 50);

  const wordy = Array.from({ length: 100 }, (_, n) =>
    plainTool(`tool-${n}`, { description: 'x'.repeat(4_000) }),
  );
  const talker = await serve(t, ...wordy);
  const other = conversation(t);
  await other.begin([remote(talker.url)]);
  assert.ok(other.names().length < 51);
});

test('a secret that a server tells of in its tools is hidden, and the tool works', async (t) => {
  const secret = 'key-0123456789';
  const server = await serve(
    t,
    plainTool(`for-${secret}`, {
      description: `Send ${secret}`,
      inputSchema: { type: 'object', properties: { source: { default: secret, const: secret } } },
    }),
  );
  const { servers, begin, names } = conversation(t);
  await begin([remote(server.url, secret)], (text) => text.replaceAll(secret, '<hidden>'));
  const shown = servers.tools.map(({ offered, description, schema }) => ({ offered, description, schema }));
  assert.doesNotMatch(JSON.stringify(shown), new RegExp(secret));
  assert.equal((await servers.call(names()[0] ?? '', hostOf(server), {}, never)).kind, 'answered');
  assert.equal(server.calls()[0]?.params.name, `for-${secret}`);
});

test('servers have names that differ; a conversation has its own in the place of its user', () => {
  const program = (name: string): McpServer => ({ kind: 'stdio', name, command: name, args: [], env: {} });
  const at = (url: string) => remote(`https://${url}`);
  const named = namedServers(
    [program('files'), program('mcp.example'), at('mcp.example/a?key=secret'), at('mcp.example/b')],
    [program('files'), at('mcp.example/b')],
  );
  assert.deepEqual(
    named.map(({ name, scope }) => [name, scope]),
    [
      ['mcp.example', 'user'],
      ['mcp.example_2', 'user'],
      ['files', 'conversation'],
      ['mcp.example_3', 'conversation'],
    ],
  );
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';

import {
  EVERYTHING,
  FILESYSTEM,
  type McpReply,
  type McpRequest,
  plainTool,
  startEverything,
  startScriptedMcp,
} from '../../test/support/mcp-servers.ts';
import { type Bench, startBench } from '../../test/support/unconfined.ts';
import { guardedFetch } from '../egress/guarded-fetch.ts';
import { NO_HOSTS } from '../egress/host-list.ts';
import { servicePolicy } from '../egress/policy.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { Secret } from '../secrets/secret.ts';
import type { Ways } from './client.ts';
import { McpConnection, type McpTimeouts } from './connection.ts';
import type { McpServer } from './server.ts';

const never = new AbortController().signal;
/** Longer than anything takes here. */
const PATIENT: McpTimeouts = { connectMs: 60_000, retryMs: 60_000, callMs: 60_000 };

let bench: Bench;
let sandbox: Sandbox | null = null;
const fetch = guardedFetch(servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }));
const ways: Ways = {
  sandbox: async () => {
    const open = (): Promise<Sandbox> => bench.provider.open(bench.spec(1), never);
    const opened = (sandbox ??= await open());
    void opened.ended.then(() => (sandbox === opened ? (sandbox = null) : null));
    return opened;
  },
  fetch,
};

before(async () => {
  bench = await startBench();
});
after(async () => {
  await bench.close();
  await fetch.close();
});

function everything(env: Record<string, string> = {}, marker = ''): McpServer {
  return {
    kind: 'stdio',
    name: 'everything',
    command: process.execPath,
    args: [EVERYTHING, 'stdio', marker],
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, new Secret(value)])),
  };
}

function remote(kind: 'sse' | 'shttp', url: string, apiKey: string | null = null): McpServer {
  return { kind, url, apiKey: apiKey === null ? null : new Secret(apiKey), callMs: null };
}

/** One connection, closed after the test, with every status it has had. */
function connectionTo(
  t: { after: (done: () => Promise<void>) => void },
  server: McpServer,
  timeouts: Partial<McpTimeouts> = {},
) {
  const statuses: string[] = [];
  let changed = (): void => {};
  const named = { name: 'it', scope: 'user' as const, server };
  const connection = new McpConnection(named, { ...PATIENT, ...timeouts }, ({ status }) => {
    statuses.push(status);
    changed();
  });
  t.after(() => connection.close());
  const call = (tool: string, input: Record<string, unknown> = {}, signal = never) =>
    connection.call(tool, input, ways, signal);
  const until = async (status: string): Promise<void> => {
    while (connection.status !== status) await new Promise<void>((resolve) => (changed = resolve));
  };
  return { connection, statuses, call, until, begin: () => connection.begin(ways, never) };
}

async function scripted(
  t: { after: (done: () => Promise<void>) => void },
  tools: readonly object[],
  reply?: (request: McpRequest) => McpReply | null,
) {
  const server = await startScriptedMcp(tools, reply);
  t.after(() => server.close());
  return server;
}

for (const kind of ['stdio', 'sse', 'shttp'] as const) {
  test(`server-everything is connected by ${kind}, lists its tools, answers, and is connected again when it died`, async (t) => {
    const server = kind === 'stdio' ? null : await startEverything(kind === 'sse' ? 'sse' : 'streamableHttp');
    if (server) t.after(() => server.close());
    const marker = randomUUID();
    const { connection, statuses, call, begin, until } = connectionTo(
      t,
      server && kind !== 'stdio' ? remote(kind, server.url) : everything({}, marker),
    );
    await begin();
    assert.deepEqual([connection.status, connection.failure], ['ready', null]);
    assert.ok(connection.tools.some(({ name }) => name === 'echo'));
    const first = await call('echo', { message: 'hello' });
    assert.ok(first.kind === 'answered', JSON.stringify(first));
    assert.deepEqual(first.called.content, [{ type: 'text', text: 'Echo: hello' }]);

    if (server) await server.restart();
    else {
      const at = await ways.sandbox();
      await at.exec(`pkill -f ${marker}`, { timeoutMs: 60_000, signal: never });
      await until('failed');
    }
    const again = await call('echo', { message: 'again' });
    assert.ok(again.kind === 'answered', JSON.stringify(again));
    assert.deepEqual(again.called.content, [{ type: 'text', text: 'Echo: again' }]);
    assert.deepEqual(statuses, ['connecting', 'ready', 'failed', 'connecting', 'ready']);
  });
}

test('server-filesystem reads the workspace, where it runs', async (t) => {
  const at = await ways.sandbox();
  await at.exec('echo "from the workspace" > notes.txt', { timeoutMs: 60_000, signal: never });
  const { connection, call, begin } = connectionTo(t, {
    kind: 'stdio',
    name: 'files',
    command: process.execPath,
    args: [FILESYSTEM, at.root],
    env: {},
  });
  await begin();
  assert.equal(connection.status, 'ready', connection.failure?.reason);
  const read = await call('read_text_file', { path: `${at.root}/notes.txt` });
  assert.ok(read.kind === 'answered');
  assert.match(JSON.stringify(read.called.content), /from the workspace/);
});

test('a program has the variables of its configuration, and none of the service', async (t) => {
  const { call, begin } = connectionTo(t, everything({ OWN_TOKEN: 'a-value-of-its-own' }));
  await begin();
  const answer = await call('get-env');
  assert.ok(answer.kind === 'answered');
  const [block] = answer.called.content as { text: string }[];
  const env = JSON.parse(block?.text ?? '') as Record<string, string>;
  assert.equal(env['OWN_TOKEN'], 'a-value-of-its-own');
  assert.equal(env['NODE_TEST_CONTEXT'], undefined);
});

test('a program that cannot be run fails with why, and what it said', async (t) => {
  const program = (command: string, ...args: string[]): McpServer => ({
    kind: 'stdio',
    name: 'it',
    command,
    args,
    env: {},
  });
  const missing = connectionTo(t, program('no-such-server'));
  await missing.begin();
  assert.equal(missing.connection.status, 'failed');
  assert.match(missing.connection.failure?.reason ?? '', /could not be found/);
  const fails = connectionTo(t, program('bash', '-c', 'echo "wants a token" >&2; exit 3'));
  await fails.begin();
  assert.equal(fails.connection.failure?.reason, 'Its program ended with exit code 3.');
  assert.equal(fails.connection.failure.detail, 'wants a token');
});

test('what a program writes that is no message is passed over', async (t) => {
  const greets = `console.log('Welcome!'); console.log('{"level":"info"}'); await import(${JSON.stringify(EVERYTHING)})`;
  const { connection, begin } = connectionTo(t, {
    kind: 'stdio',
    name: 'it',
    command: process.execPath,
    args: ['--input-type=module', '-e', greets],
    env: {},
  });
  await begin();
  assert.equal(connection.status, 'ready', connection.failure?.reason);
});

test('the key goes to the server as a bearer token', async (t) => {
  const server = await scripted(t, [plainTool('one')]);
  const { begin, call } = connectionTo(t, remote('shttp', server.url, 'key-0123456789'));
  await begin();
  await call('one');
  assert.ok(server.requests.length >= 4);
  for (const { headers } of server.requests) assert.equal(headers.authorization, 'Bearer key-0123456789');
});

test('a server that redirects elsewhere does not get the key there', async (t) => {
  const thief = await scripted(t, [plainTool('one')]);
  const server = await scripted(
    t,
    [],
    () => (response) => response.writeHead(307, { location: thief.url }).end(),
  );
  const { connection, begin } = connectionTo(t, remote('shttp', server.url, 'key-0123456789'));
  await begin();
  assert.equal(connection.status, 'failed');
  assert.deepEqual(thief.requests, []);
});

for (const kind of ['sse', 'shttp'] as const) {
  test(`a server that cannot be reached fails with why: ${kind}`, async (t) => {
    const server = await scripted(t, []);
    const dead = connectionTo(t, remote(kind, server.url));
    await server.close();
    await dead.begin();
    assert.equal(dead.connection.failure?.reason, 'The connection to it failed (ECONNREFUSED).');

    const guarded = guardedFetch(servicePolicy({ privateAllowed: () => false, allowPrivateHosts: NO_HOSTS }));
    t.after(() => guarded.close());
    const barred = connectionTo(t, remote(kind, server.url));
    await barred.connection.begin({ ...ways, fetch: guarded }, never);
    assert.match(barred.connection.failure?.reason ?? '', /127\.0\.0\.1.*PARLEY_ALLOW_PRIVATE_HOSTS/);
  });
}

test('connecting and calling have time-outs of their own', async (t) => {
  const silent = await scripted(t, [], () => () => {});
  const slow = connectionTo(t, remote('shttp', silent.url), { connectMs: 50, retryMs: 20 });
  await slow.begin();
  assert.deepEqual(slow.statuses, ['connecting', 'failed']);
  assert.equal(slow.connection.failure?.reason, 'It did not answer within 0.05 seconds.');
  // The next run does not wait as long for it again.
  await slow.begin();
  assert.equal(slow.connection.failure.reason, 'It did not answer within 0.02 seconds.');

  const server = await scripted(t, [plainTool('sleeps'), plainTool('works')], ({ params }) =>
    params.name === 'sleeps' ? () => {} : null,
  );
  const { connection, begin, call } = connectionTo(t, remote('shttp', server.url), { callMs: 2_000 });
  await begin();
  assert.deepEqual(await call('sleeps'), {
    kind: 'failed',
    reason: 'It did not answer within 2 seconds.',
    effect: 'unknown',
  });
  assert.equal(connection.status, 'ready');
  assert.equal((await call('works')).kind, 'answered');

  const own: McpServer = { kind: 'shttp', url: server.url, apiKey: null, callMs: 100 };
  const bound = connectionTo(t, own);
  await bound.begin();
  const late = await bound.call('sleeps');
  assert.equal(late.kind === 'failed' && late.reason, 'It did not answer within 0.1 seconds.');
});

test('an error of the server is its answer', async (t) => {
  const server = await scripted(t, [plainTool('one')], ({ method }) =>
    method === 'tools/call' ? { error: { code: -32602, message: 'the input is wrong' } } : null,
  );
  const { connection, begin, call } = connectionTo(t, remote('shttp', server.url));
  await begin();
  const outcome = await call('one');
  assert.ok(outcome.kind === 'refused');
  assert.match(outcome.refusal.message, /the input is wrong/);
  assert.equal(connection.status, 'ready');
});

test('a dead server fails, and is tried so often in a run and no more', async (t) => {
  const server = await startScriptedMcp([plainTool('one')]);
  const { connection, begin, call, statuses } = connectionTo(t, remote('shttp', server.url));
  await begin();
  await server.close();
  // Whether it has gone before it is asked or after, who knows.
  assert.equal((await call('one')).kind, 'failed');
  for (let n = 0; n < 5; n += 1) {
    const outcome = await call('one');
    assert.deepEqual(outcome, {
      kind: 'failed',
      reason: 'The connection to it failed (ECONNREFUSED).',
      effect: 'none',
    });
  }
  assert.equal(statuses.filter((status) => status === 'connecting').length, 4);
  await begin();
  assert.equal(connection.status, 'failed');
  assert.equal(statuses.filter((status) => status === 'connecting').length, 5);
});

test('a call that was under way when the server died is of unknown effect and not repeated', async (t) => {
  const server = await scripted(t, [plainTool('one')], ({ method }) =>
    method === 'tools/call' ? (response) => void response.socket?.destroy() : null,
  );
  const { begin, call } = connectionTo(t, remote('shttp', server.url));
  await begin();
  const outcome = await call('one');
  assert.equal(outcome.kind === 'failed' && outcome.effect, 'unknown');
  assert.equal(server.calls().length, 1);

  const streaming = await scripted(t, [plainTool('one')], ({ method }) =>
    method === 'tools/call'
      ? (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(': begun\n\n', () => response.socket?.destroy());
        }
      : null,
  );
  const stream = connectionTo(t, remote('shttp', streaming.url));
  await stream.begin();
  assert.deepEqual(await stream.call('one'), {
    kind: 'failed',
    reason: 'Its answer broke off.',
    effect: 'unknown',
  });
  assert.equal(streaming.calls().length, 1);
});

test('a message without end breaks the connection', async (t) => {
  const server = await scripted(t, [plainTool('one')], ({ method }) =>
    method === 'tools/call'
      ? (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write('data: ');
          const more = (): void => {
            while (!response.destroyed && response.write('x'.repeat(1024 * 1024)));
          };
          response.on('drain', more);
          more();
        }
      : null,
  );
  const { connection, begin, call } = connectionTo(t, remote('shttp', server.url));
  await begin();
  assert.deepEqual(await call('one'), {
    kind: 'failed',
    reason: 'It sent a message of more than 16 MiB.',
    effect: 'unknown',
  });
  assert.equal(connection.status, 'failed');

  const program = connectionTo(t, {
    kind: 'stdio',
    name: 'it',
    command: 'bash',
    args: ['-c', 'cat /dev/zero | tr "\\0" x'],
    env: {},
  });
  await program.begin();
  assert.equal(program.connection.failure?.reason, 'It sent a message of more than 4 MiB.');
});

test('a program that writes lines without end, which are no messages, breaks the connection', async (t) => {
  const { connection, begin } = connectionTo(t, {
    kind: 'stdio',
    name: 'it',
    command: 'yes',
    args: ['{'],
    env: {},
  });
  await begin();
  assert.equal(connection.failure?.reason, 'It said more than 20,000 lines to one question.');
});

test('an abort ends connecting and calling at once', async (t) => {
  const server = await scripted(t, [plainTool('one')], ({ method }) =>
    method === 'tools/call' ? () => {} : null,
  );
  const { connection, begin } = connectionTo(t, remote('shttp', server.url));
  await begin();
  const stop = new AbortController();
  const calling = connection.call('one', {}, ways, stop.signal);
  stop.abort(new Error('stopped'));
  assert.deepEqual(await calling, {
    kind: 'failed',
    reason: 'The conversation was stopped before it answered.',
    effect: 'unknown',
  });
  const silent = await scripted(t, [], () => () => {});
  const hangs = connectionTo(t, remote('shttp', silent.url));
  await assert.rejects(hangs.connection.begin(ways, AbortSignal.abort(new Error('stopped'))), /stopped/);
  assert.equal(hangs.connection.status, 'idle');
});

test('a server whose sandbox is gone runs again in the next one', async (t) => {
  const { connection, begin, call } = connectionTo(t, everything());
  await begin();
  await (await ways.sandbox()).close();
  await begin();
  assert.equal(connection.status, 'ready', connection.failure?.reason);
  assert.equal((await call('echo', { message: 'here' })).kind, 'answered');
});

test('a server that says its tools have changed is asked again when the next run begins', async (t) => {
  const tools: object[] = [plainTool('grow')];
  const server = await scripted(t, tools, ({ method }) =>
    method === 'tools/call'
      ? (response, id) => {
          tools.push(plainTool('grown'));
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          for (const message of [
            { method: 'notifications/tools/list_changed' },
            { id, result: { content: [] } },
          ]) {
            response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
          }
          response.end();
        }
      : null,
  );
  const { connection, begin, call } = connectionTo(t, remote('shttp', server.url));
  await begin();
  await call('grow');
  await begin();
  assert.deepEqual(
    connection.tools.map(({ name }) => name),
    ['grow', 'grown'],
  );
  assert.equal(server.requests.filter(({ method }) => method === 'initialize').length, 1);
});

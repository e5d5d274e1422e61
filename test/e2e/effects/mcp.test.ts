import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { type Event, isAction, isObservation } from '../../../src/events/event.ts';
import { processesSaying, untilNoneSays } from '../../support/processes.ts';
import { call } from '../../support/model/answers.ts';
import { byTurn, type ModelRequest } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import {
  EVERYTHING,
  FILESYSTEM,
  type McpReply,
  type McpRequest,
  plainTool,
  type ScriptedMcp,
  startEverything,
  startScriptedMcp,
} from '../../support/mcp-servers.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const MODULES = join(import.meta.dirname, '../../../node_modules');
const API_KEY = 'mcp-key-0123456789';
const TOKEN = 'token-of-a-program-98765';
const done = call('finish', { message: 'done' });

interface Status {
  servers: {
    name: string;
    type: string;
    scope: string;
    status: string;
    reason: string | null;
    tools: string[];
    left_out: { name: string; reason: string }[];
  }[];
}

describe('mcp_config', () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley({
      PARLEY_SANDBOX_READ_ONLY_PATHS: MODULES,
      // There is more than one user.
      PARLEY_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
    });
  });
  after(() => parley.close());

  const everything = (marker: string) => ({
    name: 'everything',
    command: process.execPath,
    args: [EVERYTHING, 'stdio', marker],
    env: { OWN_TOKEN: TOKEN },
  });
  const settings = (model: ModelServer, mcp_config: object, more: object = {}, key?: string) =>
    parley.ok(
      'POST',
      '/api/settings',
      {
        agent: 'CodeActAgent',
        llm_model: 'openai/scripted',
        llm_api_key: 'sk-a-model-key',
        llm_base_url: model.baseUrl,
        confirmation_mode: false,
        mcp_config: { sse_servers: [], stdio_servers: [], shttp_servers: [], ...mcp_config },
        ...more,
      },
      key,
    );
  const begin = (id: string, more: object = {}, key?: string) =>
    parley.ok(
      'POST',
      '/api/conversations',
      { conversation_id: id, initial_user_msg: 'Do it.', ...more },
      key,
    );
  const finished = (id: string) => parley.until(id, ({ agent_state }) => agent_state === 'finished');
  const statusOf = async (id: string) => (await parley.ok('GET', `/api/conversations/${id}/mcp`)) as Status;
  const answersOf = (events: readonly Event[]) =>
    events.flatMap((event) => (isObservation(event, 'mcp') ? [event] : []));
  const offered = ({ body }: ModelRequest): string[] =>
    (body.tools ?? []).map((tool) => (tool as { function: { name: string } }).function.name);
  /** Scripted servers, closed with the test. */
  async function scripted(
    use: (servers: ScriptedMcp[]) => Promise<void>,
    ...plans: [tools: readonly object[], reply?: (request: McpRequest) => McpReply | null][]
  ): Promise<void> {
    const servers = await Promise.all(plans.map(([tools, reply]) => startScriptedMcp(tools, reply)));
    try {
      await use(servers);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  }

  it('gives the agent the tools of programs in the sandbox and of servers over SSE and HTTP, and hides their secrets', async (t) => {
    const sse = await startEverything('sse');
    t.after(() => sse.close());
    const marker = `marker-${process.pid}`;
    const echoes = (request: McpRequest): McpReply | null =>
      request.method === 'tools/call'
        ? { result: { content: [{ type: 'text', text: `You sent ${request.headers.authorization}` }] } }
        : null;
    await scripted(
      async ([remote]) => {
        await using model = await startModelServer(
          byTurn([
            call('execute_bash', { command: 'echo from the workspace > notes.txt' }),
            call('read_text_file', { path: '/workspace/notes.txt' }),
            call('everything_get-env', {}),
            call('whoami', { who: 'I' }),
            call(`_${new URL(sse.url).host.replaceAll(/[.:]/g, '_')}_get-tiny-image`, {}),
            done,
          ]),
        );
        const stdio_servers = [
          everything(marker),
          { name: 'files', command: process.execPath, args: [FILESYSTEM, '/workspace'] },
        ];
        const shttp_servers = [{ url: remote?.url, api_key: API_KEY }];
        await settings(model, { sse_servers: [sse.url], stdio_servers, shttp_servers });
        await begin('kinds');
        await finished('kinds');

        const events = await parley.events('kinds');
        const [read, env, who, image] = answersOf(events);
        assert.match(read?.content ?? '', /from the workspace/);
        assert.match(env?.content ?? '', /OWN_TOKEN\\*": *\\*"<secret_hidden>/);
        assert.match(who?.content ?? '', /Bearer <secret_hidden>/);
        for (const { headers } of remote?.requests ?? []) {
          assert.equal(headers.authorization, `Bearer ${API_KEY}`);
        }
        const said = JSON.stringify([events, model.requests, await statusOf('kinds')]) + parley.output();
        for (const secret of [API_KEY, TOKEN]) assert.ok(!said.includes(secret), secret);

        const asked = events.find(
          (event) => isAction(event, 'call_tool_mcp') && event.args.name === 'whoami',
        );
        assert.ok(asked && isAction(asked, 'call_tool_mcp'));
        assert.deepEqual(asked.args.arguments, { who: 'I' });
        assert.deepEqual(who?.extras, { name: 'whoami', arguments: { who: 'I' } });
        assert.equal(who?.cause, asked.id);

        const [seen = ''] = image?.extras.image_urls ?? [];
        assert.match(seen, /^data:image\/png;base64,/);
        assert.ok(!image?.content.includes(seen.slice(-100)));
        const shown = model.requests.at(-1)?.body.messages.at(-1);
        assert.ok(shown?.role === 'user' && JSON.stringify(shown.content).includes(seen));

        assert.deepEqual(
          (await statusOf('kinds')).servers.map(({ type, status, scope }) => [type, status, scope]),
          [
            ['sse', 'ready', 'user'],
            ['stdio', 'ready', 'user'],
            ['stdio', 'ready', 'user'],
            ['shttp', 'ready', 'user'],
          ],
        );
        assert.equal((await processesSaying(marker)).length, 1);
        await parley.ok('POST', '/api/conversations/kinds/stop');
        await untilNoneSays(marker);
        assert.deepEqual(
          (await statusOf('kinds')).servers.map(({ status }) => status),
          ['idle', 'idle', 'idle', 'idle'],
        );
      },
      [[plainTool('whoami')], echoes],
    );
  });

  it('goes on without servers that fail, says why, and drops tools that are not valid', async () => {
    await scripted(
      async ([refuses, odd]) => {
        await using model = await startModelServer(byTurn([call('huge', {}), call('fails', {}), done]));
        const dead = await startScriptedMcp([]);
        await dead.close();
        await settings(model, {
          stdio_servers: [{ name: 'missing', command: 'no-such-server' }],
          shttp_servers: [dead.url, refuses?.url, odd?.url],
        });
        const watching = new AbortController();
        await parley.ok('POST', '/api/conversations', { conversation_id: 'failing' });
        const stream = await fetch(`${parley.url}/api/conversations/failing/events/stream`, {
          headers: { 'x-session-api-key': parley.key },
          signal: watching.signal,
        });
        await parley.ok('POST', '/api/conversations/failing/message', { message: 'Do it.' });
        let streamed = '';
        const decoder = new TextDecoder();
        for await (const chunk of stream.body ?? []) {
          streamed += decoder.decode(chunk, { stream: true });
          if (streamed.includes('"agent_state":"finished"')) break;
        }
        watching.abort();
        assert.match(streamed, /event: status\ndata: .*The MCP server missing is being connected/);
        assert.match(streamed, /event: status\ndata: .*The MCP server missing cannot be used/);

        const { servers } = await statusOf('failing');
        const [missing, gone, refusing, left] = servers;
        assert.deepEqual(
          servers.map(({ status }) => status),
          ['failed', 'failed', 'failed', 'ready'],
        );
        assert.match(missing?.reason ?? '', /could not be found in the sandbox/);
        assert.match(gone?.reason ?? '', /ECONNREFUSED|UND_ERR/);
        assert.match(refusing?.reason ?? '', /answered 401/);
        assert.deepEqual(left?.tools, ['huge', 'fails']);
        assert.deepEqual(
          left?.left_out.map(({ name }) => name),
          ['bad', 'deep'],
        );
        const events = await parley.events('failing');
        const told = events.filter((event) => isObservation(event, 'error') && event.cause === undefined);
        assert.equal(told.length, 3);

        const [huge, fails] = answersOf(events);
        assert.ok((huge?.content.length ?? 0) < 30_000);
        assert.match(huge?.content ?? '', /characters left out here/);
        assert.match(fails?.content ?? '', /answered with an error \(-32000\): out of order/);
        assert.equal(fails?.success, false);
      },
      [[], () => (response) => response.writeHead(401).end()],
      [
        [
          plainTool('huge'),
          plainTool('fails'),
          { name: 'bad', inputSchema: { type: 'object', properties: { a: { type: 'strange' } } } },
          { name: 'deep', inputSchema: deep(200) },
        ],
        ({ method, params }) => {
          if (method !== 'tools/call') return null;
          if (params.name === 'fails') return { error: { code: -32000, message: 'out of order' } };
          return { result: { content: [{ type: 'text', text: 'x'.repeat(10_000_000) }] } };
        },
      ],
    );
  });

  it('is stored with provider tokens too, and prefixes the tools of servers that share a name with each other or with our own', async () => {
    await scripted(
      async ([a, b]) => {
        await using model = await startModelServer(byTurn([done]));
        const servers = { shttp_servers: [a?.url, b?.url] };
        await settings(model, {});
        await parley.ok('POST', '/api/add-git-providers', { mcp_config: servers });
        await begin('clash');
        await finished('clash');
        const [one, two] = [a, b].map(
          (server) => `_${new URL(server?.url ?? '').host.replaceAll(/[.:]/g, '_')}`,
        );
        const [request] = model.requests;
        const names = request ? offered(request) : [];
        assert.deepEqual(names.slice(-4), [`${one}_search`, `${one}_think`, `${two}_search`, 'only']);
        assert.equal(names.filter((name) => name === 'think').length, 1);
      },
      [[plainTool('search'), plainTool('think')]],
      [[plainTool('search'), plainTool('only')]],
    );
  });

  it('asks the user before a call in confirmation mode: rejected, the server is not reached', async () => {
    await scripted(
      async ([server]) => {
        await using model = await startModelServer(
          byTurn([call('act', { n: 1 }), call('act', { n: 2 }), done]),
        );
        await settings(
          model,
          { shttp_servers: [server?.url] },
          { confirmation_mode: true, security_analyzer: null },
        );
        const decide = (agent_state: string) =>
          parley.ok('POST', '/api/conversations/asks/events', {
            action: 'change_agent_state',
            args: { agent_state },
          });
        await begin('asks');
        await parley.until('asks', ({ agent_state }) => agent_state === 'awaiting_user_confirmation');
        assert.equal(server?.calls().length, 0);
        await decide('user_rejected');
        await parley.until('asks', ({ agent_state }) => agent_state === 'awaiting_user_input');
        await parley.ok('POST', '/api/conversations/asks/message', { message: 'Try the other.' });
        await parley.until('asks', ({ agent_state }) => agent_state === 'awaiting_user_confirmation');
        await decide('user_confirmed');
        await finished('asks');
        assert.deepEqual(
          server?.calls().map(({ params }) => params.arguments),
          [{ n: 2 }],
        );
      },
      [[plainTool('act')]],
    );
  });

  it('of a conversation is its own, kept over a crash, and a call that was under way is not repeated', async () => {
    await scripted(
      async ([users, own, others]) => {
        await using model = await startModelServer(
          byTurn([call('hangs', {}), call('owned', {}), done, call('finish', { message: 'again' })]),
        );
        const key = (await parley.command('keys', 'create', '--user', 'other')).trim().split(/\s+/).at(-1);
        await settings(model, { shttp_servers: [{ url: others?.url, api_key: API_KEY }] }, {}, key);
        await settings(model, { shttp_servers: [users?.url] });
        const secret = 'a-secret-of-the-conversation';
        await begin('own', {
          initial_user_msg: `Use ${secret}.`,
          mcp_config: { shttp_servers: [{ url: own?.url, api_key: secret }] },
        });
        await users?.called;
        await parley.crash();
        await parley.start();
        await finished('own');
        await parley.ok('POST', '/api/conversations/own/message', { message: `And ${secret}.` });
        await parley.untilEvents('own', (all) => all.some(({ message }) => message === 'again'));
        const events = await parley.events('own');
        const asked = events.find((event) => isAction(event, 'call_tool_mcp'));
        const answer = events.find((event) => 'observation' in event && event.cause === asked?.id);
        assert.match(answer && 'content' in answer ? answer.content : '', /its outcome is not known/);
        assert.equal(users?.calls().length, 1);
        assert.equal(own?.calls().length, 1);
        for (const { headers } of own?.requests ?? []) {
          assert.equal(headers.authorization, `Bearer ${secret}`);
        }
        for (const { headers } of users?.requests ?? []) assert.equal(headers.authorization, undefined);
        assert.ok(!(JSON.stringify(events) + parley.output()).includes(secret));
        assert.deepEqual(others?.requests, []);
        assert.deepEqual(
          (await statusOf('own')).servers.map(({ scope, status }) => [scope, status]),
          [
            ['user', 'ready'],
            ['conversation', 'ready'],
          ],
        );
        const foreign = await parley.request('GET', '/api/conversations/own/mcp', undefined, key);
        assert.equal(foreign.status, 404);
      },
      [[plainTool('hangs')], ({ method }) => (method === 'tools/call' ? () => {} : null)],
      [[plainTool('owned')]],
      [[plainTool('foreign')]],
    );
  });

  it('gives ReadOnlyAgent nothing, and calls no server for it', async () => {
    await scripted(
      async ([server]) => {
        await using model = await startModelServer(byTurn([done]));
        await settings(model, { shttp_servers: [server?.url] }, { agent: 'ReadOnlyAgent' });
        await begin('reads');
        await finished('reads');
        assert.ok(!model.requests.some((request) => offered(request).includes('act')));
        assert.deepEqual(server?.requests, []);
        const [status] = (await statusOf('reads')).servers;
        assert.deepEqual(
          [status?.status, status?.reason],
          ['idle', 'ReadOnlyAgent has no tools of MCP servers.'],
        );
      },
      [[plainTool('act')]],
    );
  });
});

/** A schema that nests so deep. */
function deep(levels: number): object {
  let schema: object = { type: 'string' };
  for (let n = 0; n < levels; n += 1) schema = { type: 'object', properties: { a: schema } };
  return schema;
}

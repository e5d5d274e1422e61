import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ownPort } from './own-port.ts';

/** Where a server of npm begins: an argument for Node. */
export const EVERYTHING = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
);
export const FILESYSTEM = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'),
);

export interface RemoteUnderTest {
  url: string;
  /** SIGKILL; then the same again on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** `server-everything` as it comes from npm, over HTTP, on loopback. */
export async function startEverything(kind: 'sse' | 'streamableHttp'): Promise<RemoteUnderTest> {
  const port = await ownPort();
  let server = await start(kind, port);
  return {
    url: `http://127.0.0.1:${port}/${kind === 'sse' ? 'sse' : 'mcp'}`,
    async restart() {
      await server.kill();
      server = await start(kind, port);
    },
    close: () => server.kill(),
  };
}

async function start(kind: string, port: number): Promise<{ kill: () => Promise<void> }> {
  const loopback = fileURLToPath(new URL('mcp-loopback.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', loopback, EVERYTHING, kind], {
    env: { PORT: String(port), PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const listening = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (/^port \d+$/.test(line)) listening.resolve();
  });
  const exited = once(child, 'exit');
  child.once('exit', (code) => listening.reject(new Error(`server-everything ended with ${code}`)));
  await listening.promise;
  return {
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export interface McpRequest {
  method: string;
  params: { name?: string; arguments?: Record<string, unknown> };
  headers: IncomingHttpHeaders;
}

/** What a {@link ScriptedMcp} answers: a result, an error, or what the function does with the response itself. */
export type McpReply =
  | { result: unknown }
  | { error: { code: number; message: string } }
  | ((response: ServerResponse, id: unknown) => void);

export interface ScriptedMcp {
  url: string;
  /** All that came, in its order. */
  requests: McpRequest[];
  calls(): McpRequest[];
  /** Resolves at the first call of a tool. */
  called: Promise<void>;
  close(): Promise<void>;
}

/** A tool with the least there is to say of it. */
export function plainTool(name: string, more: object = {}): object {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object' }, ...more };
}

/** A server of streamable HTTP that says what the test wants; `reply` gives null for what it does as every server. */
export async function startScriptedMcp(
  tools: readonly object[],
  reply: (request: McpRequest) => McpReply | null = () => null,
): Promise<ScriptedMcp> {
  const requests: McpRequest[] = [];
  const called = Promise.withResolvers<void>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const {
      id,
      method,
      params = {},
    } = JSON.parse(await text(request)) as {
      id?: unknown;
      method: string;
      params?: McpRequest['params'];
    };
    const asked: McpRequest = { method, params, headers: request.headers };
    requests.push(asked);
    if (method === 'tools/call') called.resolve();
    if (id === undefined) return void response.writeHead(202).end();
    const given = reply(asked) ?? usual(asked, tools);
    if (typeof given === 'function') return given(response, id);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...given }));
  };
  const server = createServer((request, response) => void serve(request, response));
  // Of its own: when it has gone, nobody else is found there.
  const port = await ownPort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    requests,
    called: called.promise,
    calls: () => requests.filter(({ method }) => method === 'tools/call'),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function usual({ method, params }: McpRequest, tools: readonly object[]): McpReply {
  if (method === 'initialize') {
    const serverInfo = { name: 'scripted', version: '1' };
    return { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } };
  }
  if (method === 'tools/list') return { result: { tools } };
  if (method === 'tools/call') {
    const said = `${params.name}: ${JSON.stringify(params.arguments)}`;
    return { result: { content: [{ type: 'text', text: said }] } };
  }
  return { error: { code: -32601, message: 'no such method' } };
}

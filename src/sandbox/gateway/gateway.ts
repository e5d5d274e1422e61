import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connectTo } from '../../egress/connect.ts';
import { findDestination, HostNotFound, type Egress } from '../../egress/destination.ts';
import { EgressRefused, type EgressPolicy } from '../../egress/policy.ts';
import { cachedResolve, type Resolve } from '../../egress/resolver.ts';
import { forward } from './forward.ts';
import type { GitFront } from './git-front.ts';
import { GitHost } from './git-host.ts';
import { gitRoute } from './git-route.ts';
import { headersToForward } from './headers.ts';
import { absoluteTarget, tunnelTarget } from './target.ts';

export interface GatewayOptions {
  /** A unix socket in a directory that only this conversation's sandbox mounts: who reaches it, is that sandbox. */
  socketPath: string;
  front: GitFront | null;
  /** What the sandbox may reach. */
  policy: EgressPolicy;
  /** By which rules the git provider is reached: its host is the user's setting, not the sandbox's wish. */
  frontPolicy?: EgressPolicy;
  resolve?: Resolve;
  /** Told of refusals, without secrets; of the first hundred, since a program inside decides how many there are. */
  log?: (line: string) => void;
}

export interface Gateway {
  /** Ends every connection and removes the socket. */
  close(): Promise<void>;
}

const CONNECTIONS = 256;
const LOGGED_REFUSALS = 100;
const HEAD_MS = 30_000;
const TUNNEL_SILENT_MS = 15 * 60_000;
/** Of `sun_path` in `unix(7)`, without its final NUL; Node cuts a longer one silently or fails with EINVAL. */
const SOCKET_PATH_BYTES = 107;

/** The only door out of a sandbox: an HTTP proxy that connects to checked addresses alone, and adds the git token. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { socketPath, front, policy, frontPolicy = policy, resolve = cachedResolve() } = options;
  if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES)
    throw new RangeError(`${socketPath} is too long for a socket`);
  const sandbox: Egress = { policy, resolve };
  const git = front ? new GitHost(front, { sandbox, provider: { policy: frontPolicy, resolve } }) : null;
  const sockets = new Set<Socket>();
  const closing = new AbortController();
  let refusals = 0;

  function tell(reason: string): void {
    refusals += 1;
    if (refusals <= LOGGED_REFUSALS) options.log?.(`refused: ${reason}`);
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, reason: string) => answerWith(response, status, `gateway: ${reason}\n`);
    const raw = incoming.url ?? '';
    const target = absoluteTarget(raw);
    if (!target.ok) return refuse(400, target.reason);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, closing.signal]);

    const route = front
      ? gitRoute(front, incoming.method ?? '', target.url, raw)
      : { to: 'elsewhere' as const };
    if (route.to === 'nowhere') {
      tell(route.reason);
      return refuse(403, route.reason);
    }
    if (route.to === 'elsewhere' || !git) {
      const { url } = target;
      const headers = headersToForward(incoming, ['expect', 'content-length', 'host']);
      const outgoing = { url, path: `${url.pathname}${url.search}`, headers, egress: sandbox };
      const answer = await forward(incoming, outgoing, signal);
      response.writeHead(answer.statusCode ?? 502, headersToForward(answer));
      return pipeline(answer, response);
    }
    const outgoing = git.outgoing(incoming, route);
    if (!outgoing) return refuse(404, 'this LFS address is no longer known: ask for the file again');
    const answer = await forward(incoming, outgoing, signal);
    const { status, headers, body } = await git.answer(answer, route);
    response.writeHead(status, headers);
    if (body === null) return pipeline(answer, response);
    response.end(body);
  }

  async function tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const target = tunnelTarget(incoming.url ?? '');
    if (!target) return end(client, 400, 'CONNECT takes host:port');
    const gone = new AbortController();
    client.once('close', () => gone.abort());
    const destination = await findDestination(sandbox, target.host, target.port);
    const upstream = await connectTo(destination, AbortSignal.any([gone.signal, closing.signal]));
    upstream.setTimeout(TUNNEL_SILENT_MS, () => upstream.destroy());
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    upstream.write(head);
    // Each end may stop sending first; when one breaks, both are gone, and there is nobody left to tell.
    await Promise.allSettled([pipeline(client, upstream), pipeline(upstream, client)]);
  }

  const server = createServer({
    requestTimeout: 0,
    headersTimeout: HEAD_MS,
    connectionsCheckingInterval: HEAD_MS,
  });
  server.maxConnections = CONNECTIONS;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      const { status, reason } = failure(error);
      if (status === 403) tell(reason);
      if (response.headersSent) response.destroy();
      else answerWith(response, status, `gateway: ${reason}\n`);
    });
  });
  server.on('connect', (incoming, client, head) => {
    client.on('error', () => client.destroy());
    tunnel(incoming, client, head).catch((error: unknown) => {
      const { status, reason } = failure(error);
      if (status === 403) tell(reason);
      end(client, status, reason);
    });
  });
  server.on('clientError', (_error, client) => end(client, 400, 'this is not a request that HTTP allows'));

  await rm(socketPath, { force: true });
  server.listen(socketPath);
  await once(server, 'listening');
  await chmod(socketPath, 0o666);

  return {
    async close() {
      closing.abort();
      const closed = server.listening ? once(server, 'close') : null;
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** What a program is told: a refusal's own sentence, and of other errors the code alone. */
function failure(error: unknown): { status: number; reason: string } {
  if (error instanceof EgressRefused) return { status: 403, reason: error.message };
  if (error instanceof HostNotFound) return { status: 502, reason: error.message };
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
  return { status: 502, reason: `the host could not be reached (${code})` };
}

/** Node reads the rest of the request away, so that a program in the middle of sending gets to see the answer. */
function answerWith(response: ServerResponse, status: number, text: string): void {
  const length = Buffer.byteLength(text);
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'content-length': length })
    .end(text);
}

function end(client: Duplex, status: number, reason: string): void {
  if (!client.writable || client.destroyed) return void client.destroy();
  const body = `gateway: ${reason}\n`;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: text/plain; charset=utf-8\r\n`;
  client.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
}

import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Egress } from '../../egress/destination.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import { cachedResolve, type Resolve } from '../../egress/resolver.ts';
import { createServer } from '../../node-http.ts';
import { Turns } from '../../turns.ts';
import { forward } from './forward.ts';
import type { GitFront } from './git-front.ts';
import { GitHost } from './git-host.ts';
import { headersToForward } from './headers.ts';
import { pace } from './pace.ts';
import { PushExchange } from './push/exchange.ts';
import type { Push, PushRules } from './push/push.ts';
import { refusalOf, refuse, refuseAndEnd, type Refusal } from './refusal.ts';
import { absoluteTarget, tunnelTarget } from './target.ts';
import { openTunnel } from './tunnel.ts';

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
  /** What pushes to the front's repository may do; when not given, only what no rule forbids. */
  pushRules?: PushRules;
  /** Told of each of them when the host has answered, or did not. The program inside is answered after it. */
  pushed?: (push: Push) => void | Promise<void>;
}

const NOTHING_MADE: PushRules = { policy: 'protect', made: () => Promise.resolve(new Set()) };

export interface Gateway {
  /** Ends every connection and removes the socket. */
  close(): Promise<void>;
}

const CONNECTIONS = 256;
/** Requests that one connection may send ahead of their answers, which they wait for: some programs send ten. */
const AHEAD = 16;
/** More than installing a large tree of packages asks for; the service has one thread for all sandboxes. */
const PACE = { perSecond: 200, burst: 2_000 };
const LOGGED_REFUSALS = 100;
/** None goes untold, so there is an end to what a program inside can have told. */
const PUSHES = 1_000;
const HEAD_MS = 30_000;
/** Of `sun_path` in `unix(7)`, without its final NUL; Node cuts a longer one silently or fails with EINVAL. */
const SOCKET_PATH_BYTES = 107;

/** The only door out of a sandbox: an HTTP proxy that connects to checked addresses alone, and adds the git token. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { socketPath, front, policy, frontPolicy = policy, resolve = cachedResolve() } = options;
  if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES) {
    throw new RangeError(`${socketPath} is too long for a socket`);
  }
  const sandbox: Egress = { policy, resolve };
  const git = front ? new GitHost(front, { sandbox, provider: { policy: frontPolicy, resolve } }) : null;
  const { pushRules = NOTHING_MADE, pushed } = options;
  // What is kept to prove a push is memory, so there is one proof at a time in each sandbox.
  const turns = new Turns(1);
  let pushes = 0;
  const mayPush = (): boolean => (pushes += 1) <= PUSHES;
  const closing = new AbortController();
  let forbidden = 0;

  const tell = ({ status, reason }: Refusal): void => {
    if (status !== 403) return;
    forbidden += 1;
    if (forbidden <= LOGGED_REFUSALS) options.log?.(`refused: ${reason}`);
  };

  const server = createServer({
    requestTimeout: 0, // Or a push would be cut after five minutes.
    headersTimeout: HEAD_MS,
    connectionsCheckingInterval: HEAD_MS,
  });
  server.maxConnections = CONNECTIONS;
  const turn = pace(PACE);
  const ourTurn = async (signal: AbortSignal): Promise<void> => {
    const wait = turn();
    if (wait > 0) await delay(wait, undefined, { signal });
  };
  const connections = new Map<Socket, Connection>();
  server.on('connection', (socket) => {
    const gone = new AbortController();
    connections.set(socket, { signal: AbortSignal.any([gone.signal, closing.signal]), open: 0, last: null });
    socket.once('close', () => {
      connections.delete(socket);
      gone.abort();
    });
  });
  const exchange = async (incoming: IncomingMessage, response: ServerResponse, gone: AbortSignal) => {
    const turnDown = (refusal: Refusal): void => {
      tell(refusal);
      refuse(response, refusal);
    };
    const push = { rules: pushRules, turns, may: mayPush, tell: async (told: Push) => pushed?.(told) };
    try {
      await ourTurn(gone);
      const refusal = await serve(git, sandbox, { incoming, response, push }, gone);
      if (refusal) turnDown(refusal);
    } catch (error) {
      turnDown(refusalOf(error));
    }
  };
  server.on('request', (incoming, response) => {
    const connection = connections.get(incoming.socket);
    // Requests that came in one packet with the last one that was taken still come.
    if (!connection || incoming.socket.destroyed) return;
    connection.open += 1;
    if (connection.open > AHEAD) {
      incoming.socket.destroy();
      return;
    }
    // One at a time, or requests sent ahead would be as many connections of ours, which nobody waits for.
    const before = connection.last;
    connection.last = (async () => {
      await before;
      if (connection.signal.aborted) return;
      await exchange(incoming, response, connection.signal);
      connection.open -= 1;
    })();
  });
  server.on('connect', (incoming, client, head) => {
    client.on('error', () => client.destroy());
    const target = tunnelTarget(incoming.url ?? '');
    if (!target) return refuseAndEnd(client, { status: 400, reason: 'CONNECT takes host:port' });
    const signal = connections.get(incoming.socket)?.signal ?? closing.signal;
    ourTurn(signal)
      .then(() => openTunnel(sandbox, target, client, head, signal))
      .catch((error: unknown) => {
        const refusal = refusalOf(error);
        tell(refusal);
        refuseAndEnd(client, refusal);
      });
  });
  server.on('clientError', (_error, client) => {
    refuseAndEnd(client, { status: 400, reason: 'this is not a request that HTTP allows' });
  });

  await rm(socketPath, { force: true });
  server.listen(socketPath);
  await once(server, 'listening');
  await chmod(socketPath, 0o666);

  return {
    async close() {
      closing.abort();
      const closed = server.listening ? once(server, 'close') : null;
      server.close();
      for (const socket of connections.keys()) socket.destroy();
      await closed;
    },
  };
}

interface Connection {
  /** Aborted when it has ended, or the gateway is closed. */
  signal: AbortSignal;
  /** Requests of it that are not answered to their end. */
  open: number;
  /** Ends with the exchange that the next request waits for. */
  last: Promise<void> | null;
}

interface Exchange {
  incoming: IncomingMessage;
  response: ServerResponse;
  push: { rules: PushRules; turns: Turns; may: () => boolean; tell: (push: Push) => Promise<void> };
}

/** Passes one request on and its answer back, or says why not. */
async function serve(
  git: GitHost | null,
  sandbox: Egress,
  { incoming, response, push }: Exchange,
  closing: AbortSignal,
): Promise<Refusal | null> {
  const raw = incoming.url ?? '';
  const target = absoluteTarget(raw);
  if (!target.ok) return { status: 400, reason: target.reason };
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  const { url } = target;

  const route = git?.route(incoming.method ?? '', url, raw);
  if (git === null || route === undefined || route.to === 'elsewhere') {
    const headers = headersToForward(incoming, ['expect', 'content-length', 'host']);
    const path = `${url.pathname}${url.search}`;
    const answer = await forward(incoming, { url, path, headers, egress: sandbox }, signal);
    response.writeHead(answer.statusCode ?? 502, headersToForward(answer));
    await pipeline(answer, response);
    return null;
  }
  if (route.to === 'nowhere') return { status: 403, reason: route.reason };

  const outgoing = git.outgoing(incoming, route);
  if (!outgoing)
    return { status: 404, reason: 'this LFS address is no longer known: ask for the file again' };
  if (isPush(incoming, outgoing.path)) {
    if (!push.may()) return { status: 403, reason: 'this sandbox has pushed too often' };
    return await new PushExchange({ git, route, outgoing, incoming, response, ...push }, signal).serve();
  }
  const answer = await forward(incoming, outgoing, signal);
  const inside = await git.answer(answer, route);
  if ('reason' in inside) {
    answer.resume();
    return inside;
  }
  response.writeHead(inside.status, inside.headers);
  if (inside.body === null) await pipeline(answer, response);
  else response.end(inside.body);
  return null;
}

function isPush({ method }: IncomingMessage, path: string): boolean {
  return method === 'POST' && path.endsWith('/git-receive-pack');
}

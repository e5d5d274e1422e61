import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import { clientAction } from '../contract/events.ts';
import { act, type ActedUpon } from '../conversations/act.ts';
import type { ConversationService } from '../conversations/service.ts';
import { ServiceError } from '../errors.ts';
import { type LogEnd, endOfLog } from '../live/socket-feed.ts';
import type { LiveSockets, Refusal, Visitor } from '../live/socketio.ts';
import { ServerResponse } from '../node-http.ts';
import { socketPrincipalOf } from './auth.ts';
import { checkShape } from './json-body.ts';
import { asServiceError } from './problem.ts';
import type { Routes } from './fastify-types.ts';
import { invalidRequest, memberErrors } from './validation.ts';

const PATHS = ['/socket.io', '/socket.io/'];

/** What one read of the log brings, when its end is looked for. */
const END_BYTES = 1024 * 1024;

type Conversations = ActedUpon & Pick<ConversationService, 'keyOf' | 'get' | 'events' | 'start'>;

export interface SocketRoutesOptions {
  auth: Authenticator;
  service: Conversations;
  sockets: LiveSockets;
}

/** Whether a request that asks for another protocol is one that we can give it. */
export function wantsSocket({ url = '', headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && PATHS.includes(url.split('?', 1)[0] ?? '');
}

/**
 * Socket.IO, as V0 has it (v0-wire 4.3). Its requests, those that become WebSockets too, meet what every request
 * does: the names that are ours, the limits, the headers.
 */
export function socketRoutes({ auth, service, sockets }: SocketRoutesOptions): Routes {
  return (server, _options, done) => {
    const upgrades = takeUpgrades(server);

    const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const who = queryOf(request, 'sid') === '' ? await admit(request) : null;
      const upgrade = upgrades.get(request.raw);
      reply.hijack();
      if (upgrade) {
        reply.raw.detachSocket(request.raw.socket);
        sockets.upgrade(request.raw, upgrade.socket, upgrade.head, who);
      } else {
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) reply.raw.setHeader(name, value);
        }
        sockets.request(request.raw, reply.raw, who);
      }
    };

    const admit = async (request: FastifyRequest): Promise<Visitor | Refusal> => {
      const id = queryOf(request, 'conversation_id');
      try {
        request.principal = await socketPrincipalOf(request, queryOf(request, 'session_api_key'), auth);
        server.throttle(request.principal.keyId);
        if (id === '') return refusal('No conversation_id in query params', 'invalid_request');
        return await visitorOf(request, id);
      } catch (error) {
        return refusalOf(error, request);
      }
    };

    const visitorOf = async (request: FastifyRequest, id: string): Promise<Visitor> => {
      const { principal } = request;
      const seen = seenOf(queryOf(request, 'latest_event_id'));
      const { queued } = await service.get(principal, id);
      return {
        conversation: await service.keyOf(principal, id),
        waits: queued,
        seen,
        end: () => endOf(service, principal, id, seen),
        // Who saw it stop and lost its connection since does not start it again.
        join: ({ newest }) =>
          orRefusal(request, () => (seen === newest ? Promise.resolve() : join(service, principal, id))),
        act: (payload) =>
          orRefusal(request, async () => {
            server.throttle(principal.keyId);
            server.activity.at = performance.now();
            await act(service, principal, id, actionOf(payload));
          }),
        allowed: () =>
          socketPrincipalOf(request, queryOf(request, 'session_api_key'), auth).then(
            () => true,
            () => false,
          ),
      };
    };

    for (const url of PATHS) {
      server.route({
        url,
        method: ['GET', 'POST'],
        config: { open: true },
        logLevel: 'warn',
        // Before the body: Engine.IO reads it itself.
        onRequest: serve,
        handler: () => undefined,
      });
    }
    server.addHook('preClose', (closed) => {
      sockets.close();
      closed();
    });
    done();
  };
}

interface Upgrade {
  socket: Duplex;
  head: Buffer;
}

/** Leads requests for a WebSocket through the hooks and routes of all requests. One that is refused is answered. */
function takeUpgrades(server: FastifyInstance): WeakMap<IncomingMessage, Upgrade> {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  server.server.on('upgrade', (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.set(raw, { socket, head });
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(raw);
    response.shouldKeepAlive = false;
    response.assignSocket(raw.socket);
    response.once('finish', () => socket.end());
    server.routing(raw, response);
  });
  return upgrades;
}

async function endOf(
  service: Conversations,
  principal: Principal,
  id: string,
  seen: number,
): Promise<LogEnd> {
  const range = { from: 0, reverse: true, maxBytes: END_BYTES };
  return await endOfLog((page) => service.events(principal, id, { ...range, ...page }), seen);
}

/** As V0: who comes starts what is stopped. */
async function join(service: Conversations, principal: Principal, id: string): Promise<void> {
  const { status } = await service.get(principal, id);
  if (status === 'STOPPED' || status === 'ERROR') await service.start(principal, id);
}

function actionOf(payload: unknown) {
  checkShape(payload, 'payload');
  const result = clientAction.safeParse(payload);
  if (!result.success) throw invalidRequest(memberErrors(result.error.issues, payload, ['payload']));
  return result.data;
}

/** What is to be told when it is refused; null when it is done. */
async function orRefusal(request: FastifyRequest, work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (thrown) {
    const error = asServiceError(thrown);
    if (error.status >= 500)
      request.log.error({ err: error.cause ?? error, code: error.code }, error.message);
    return error.message;
  }
}

/** What a page can be told in its own protocol; the rest is an answer of HTTP. */
function refusalOf(error: unknown, request: FastifyRequest): Refusal {
  if (!(error instanceof ServiceError)) throw error;
  if (error.code === 'unauthorized') {
    request.server.throttle(request.ip);
    return refusal('invalid_session_api_key', error.code, error.message);
  }
  if (error.code !== 'conversation_not_found') throw error;
  return refusal(error.message, error.code, error.message, 'CONVERSATION$NOT_FOUND');
}

function refusal(message: string, code: string, detail = message, id?: string): Refusal {
  return { message, data: { code, detail, ...(id !== undefined && { msg_id: id }) } };
}

/** Anything but an event's id means that nothing was seen. */
function seenOf(latestEventId: string): number {
  return /^[0-9]{1,9}$/.test(latestEventId) ? Number(latestEventId) : -1;
}

/** A member of the query, "" when it is not there or not a text. */
function queryOf({ query }: FastifyRequest, name: string): string {
  const value = (query as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : '';
}

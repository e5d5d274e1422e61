import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import { ServiceError } from '../errors.ts';
import { STATUS_CODES, maxHeaderSize } from '../node-http.ts';
import type { Metrics } from '../observe/metrics.ts';
import { principalOf } from './auth.ts';
import { allowOrigins } from './cors.ts';
import { docsRoutes } from './docs.ts';
import { acceptJson } from './json-body.ts';
import { KnownRoutes } from './known-routes.ts';
import { metricsRoutes } from './metrics.ts';
import { describeRoutes } from './openapi.ts';
import { type Place, refuseOtherHosts } from './own-hosts.ts';
import { PROBLEM_TYPE, asServiceError, headersOf, problemOf } from './problem.ts';
import { wantsSocket } from './sockets.ts';
import { TokenBuckets } from './token-buckets.ts';
import { validatorCompiler } from './validation.ts';
import { webClient, withoutClient } from './web-client.ts';

export interface HttpOptions {
  auth: Authenticator;
  log: FastifyBaseLogger;
  /** Requests per key and second, with twice as many at once; 0 for no limit. */
  rateLimit: number;
  /** Origins of other pages that may call. */
  corsOrigins: readonly string[];
  metrics: Metrics;
  place: Place;
  /** The folder of a browser client to serve at `/`, or null. */
  webDir: string | null;
  /** Milliseconds a request may take to arrive; a minute when not given. */
  arrivalMs?: number;
}

/** The largest body, but for the routes that say otherwise by `bodyLimit`. */
const BODY_LIMIT = 1024 * 1024;

const ARRIVAL_MS = 60_000;

/**
 * The server without its routes: register them on it, then `listen`. A request meets, in this order: its id and the
 * headers of every answer, CORS, its key, the rate limit of that key, the body, the schema, the route.
 */
export async function createHttpServer(options: HttpOptions): Promise<FastifyInstance> {
  const arrivalMs = options.arrivalMs ?? ARRIVAL_MS;
  const server = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT,
    requestTimeout: arrivalMs,
    // Anything else that asks for another protocol (h2c, say) is answered in this one.
    http: {
      shouldUpgradeCallback: wantsSocket,
      // Not longer than the whole may take: Node would take the one for the other.
      headersTimeout: arrivalMs,
      connectionsCheckingInterval: Math.min(30_000, arrivalMs),
      requireHostHeader: false,
    },
    // These may say who they speak for; nobody else is believed.
    trustProxy: [...options.place.trustedProxies],
    rewriteUrl: ({ url = '/' }) => readable(url),
    // Longer than a path can be: whatever stands in one is looked up, and is as unknown as any other.
    routerOptions: { maxParamLength: maxHeaderSize },
    schemaController: { compilersFactory: { buildValidator: notOurs, buildSerializer: notOurs } },
    forceCloseConnections: 'idle',
    // While it stops, what comes over open connections is still answered; they end after that.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
    clientErrorHandler: refuseBrokenRequest,
  });
  // Who expects what nobody knows is answered as others are (RFC 9110, 10.1.1); Node would refuse without a problem.
  server.server.on('checkExpectation', (...exchange) => server.server.emit('request', ...exchange));
  noteAnswers(server.server);
  const routes = new KnownRoutes(server);
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  server.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  // `principal` is read only by routes that have a key, and those have it from the hook below.
  server.decorateRequest('principal', null as unknown as Principal);
  server.decorate('activity', { at: performance.now() });
  server.decorate('publicUrl', options.place.publicUrl);
  acceptJson(server);
  addHeaders(server);
  refuseOtherHosts(server, options.place);
  allowOrigins(server, options.corsOrigins);
  admit(server, options, routes);
  noteRequests(server, options.metrics);
  endStreamsOnClose(server);
  await describeRoutes(server);
  metricsRoutes(server, options.auth, options.metrics);
  await server.register(docsRoutes);
  return server;
}

/** A path that is no valid encoding is taken letter by letter: it is looked up and answered as any other unknown one. */
function readable(url: string): string {
  if (!url.includes('%')) return url;
  const path = pathOf(url);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length);
  }
}

function pathOf(url = ''): string {
  return url.split('?', 1)[0] ?? '';
}

/** Milliseconds an answer may go on after the server was told to stop: event streams would never end. */
const LAST_ANSWERS_MS = 3_000;

function endStreamsOnClose(server: FastifyInstance): void {
  server.addHook('preClose', (done) => {
    setTimeout(() => server.server.closeAllConnections(), LAST_ANSWERS_MS).unref();
    done();
  });
}

/** In the place of fastify's own compilers of schemas, which would be loaded though zod does all of it. */
function notOurs(): never {
  throw new Error('schemas are compiled by zod alone');
}

/** The key before the body: who has none learns nothing and costs nothing. */
function admit(server: FastifyInstance, options: HttpOptions, routes: KnownRoutes): void {
  const { auth, rateLimit } = options;
  const client = options.webDir === null ? withoutClient : webClient(options.webDir);
  const buckets = rateLimit > 0 ? new TokenBuckets({ perSecond: rateLimit, burst: 2 * rateLimit }) : null;
  const count = (id: string): void => {
    const wait = buckets?.take(id) ?? 0;
    if (wait === 0) return;
    throw new ServiceError('rate_limited', `No more than ${rateLimit} requests per second; slow down.`, {
      retryAfter: wait,
    });
  };
  server.decorate('throttle', count);
  server.addHook('onRequest', async (request, reply) => {
    if (needsKey(request)) {
      try {
        request.principal = await principalOf(request, auth);
      } catch (error) {
        count(request.ip);
        throw error;
      }
      count(request.principal.keyId);
    }
    if (request.is404 && !(await client(request, reply))) {
      const { error, allow } = routes.refusal(pathOf(request.raw.url), request.method);
      if (allow !== null) reply.header('allow', allow);
      throw error;
    }
  });
}

function needsKey(request: FastifyRequest): boolean {
  if (!request.is404) return request.routeOptions.config.open !== true;
  const path = pathOf(request.raw.url);
  return path === '/api' || path.startsWith('/api/');
}

/** Answers are data: never run, framed, guessed at or kept. A route that serves a page sets its own policy. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

function addHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS);
    reply.header('x-request-id', request.id);
    if (request.protocol === 'https') reply.header('strict-transport-security', 'max-age=31536000');
    done();
  });
}

/**
 * One line per answer, and its time among the numbers. The route's pattern stands for the path, which may hold names,
 * and a query even keys.
 */
function noteRequests(server: FastifyInstance, metrics: Metrics): void {
  server.addHook('onResponse', (request, reply, done) => {
    const { method, principal } = request;
    const { statusCode: status, elapsedTime } = reply;
    const route = request.routeOptions.url ?? '(none)';
    metrics.request(method, route, status, elapsedTime / 1000);
    const line = { method, route, status, ms: Math.round(elapsedTime), key: principal?.keyId };
    if (status >= 500) request.log.error(line, 'request');
    else request.log.info(line, 'request');
    if (principal) server.activity.at = performance.now();
    done();
  });
}

async function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const error = asServiceError(thrown);
  if (error.status >= 500 && !hasGone(reply, thrown))
    request.log.error({ err: error.cause ?? error, code: error.code }, error.message);
  await reply
    .code(error.status)
    .headers(headersOf(error))
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(error, request.id)));
}

/** Whoever asked left, and what was done for them was ended for that: nothing broke. */
function hasGone(reply: FastifyReply, thrown: unknown): boolean {
  return reply.raw.destroyed && thrown instanceof Error && thrown.name === 'AbortError';
}

/** The answers of a connection that were not all sent when its last request came, and that one's. */
const answersOf = new WeakMap<Duplex, ServerResponse[]>();

function noteAnswers(server: FastifyInstance['server']): void {
  server.on('connection', (socket) => answersOf.set(socket, []));
  server.on('request', ({ socket }, response) => {
    const answers = answersOf.get(socket);
    // They are sent in the order of their requests.
    while (answers?.[0]?.writableFinished) answers.shift();
    answers?.push(response);
  });
}

/** What is written now would be taken for a part of an answer. */
function isWithinAnswer(socket: Duplex): boolean {
  const answers = answersOf.get(socket) ?? [];
  return answers.some((one) => one.headersSent && !one.writableFinished);
}

/** For bytes that are no HTTP request: there is no reply object yet. */
function refuseBrokenRequest(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isWithinAnswer(socket)) {
    return void socket.destroy();
  }
  const timedOut = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const refusal = timedOut
    ? new ServiceError('request_timeout', 'The request did not arrive in time.')
    : new ServiceError('malformed_http', 'This is not a valid HTTP request.');
  const status = `${refusal.status} ${STATUS_CODES[refusal.status]}`;
  const id = randomUUID();
  const body = JSON.stringify(problemOf(refusal, id));
  const headers = {
    ...HEADERS,
    'x-request-id': id,
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`);
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const HEADERS = 'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Session-API-Key';
const EXPOSED = 'Deprecation, Link, Retry-After, Sunset, X-Has-More, X-Provider-Failures, X-Request-Id';
/** Seconds a browser keeps the answer of a preflight. */
const MAX_AGE = '600';

/** Lets pages of the listed origins call the API, and no others (Fetch standard, CORS protocol). */
export function allowOrigins(server: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set(origins);
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return done();
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-allow-credentials', 'true');
    reply.header('access-control-expose-headers', EXPOSED);
    if (isPreflight(request)) return answerPreflight(reply);
    done();
  });
}

function isPreflight(request: FastifyRequest): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
}

function answerPreflight(reply: FastifyReply): void {
  reply
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', HEADERS)
    .header('access-control-max-age', MAX_AGE)
    .code(204)
    .send();
}

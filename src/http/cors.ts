import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const EXPOSED =
  'Content-Disposition, Deprecation, Link, Retry-After, Sunset, X-Has-More, X-Provider-Failures, X-Request-Id';
/** Seconds a browser keeps the answer of a preflight. */
const MAX_AGE = '600';

/** How many origins that are not listed are told of in the log: any page can name more. */
const MOST_TOLD = 20;

/** Lets pages of the listed origins call the API, and no others (Fetch standard, CORS protocol). */
export function allowOrigins(server: FastifyInstance, origins: readonly string[]): void {
  const allowed = new Set(origins);
  const told = new Set<string>();
  server.addHook('onRequest', (request, reply, done) => {
    if (allowed.size > 0) reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined) return done();
    if (allowed.has(origin)) {
      reply.header('access-control-allow-origin', origin);
      reply.header('access-control-allow-credentials', 'true');
      reply.header('access-control-expose-headers', EXPOSED);
      if (isPreflight(request)) return answerPreflight(request, reply);
    } else if (isPreflight(request)) {
      const refusal = notListed(origin);
      // The page sees no more than that it failed: whoever runs the service is told what to do.
      if (told.size < MOST_TOLD && !told.has(origin)) {
        told.add(origin);
        request.log.warn(refusal.message);
      }
      throw refusal;
    }
    done();
  });
}

function isPreflight(request: FastifyRequest): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
}

/** A page that may call may send what headers it likes: libraries add some of their own. */
function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const asked = headers['access-control-request-headers'];
  if (asked !== undefined) reply.header('access-control-allow-headers', asked);
  reply
    .header('access-control-allow-methods', METHODS)
    .header('access-control-max-age', MAX_AGE)
    .code(204)
    .send();
}

function notListed(origin: string): ServiceError {
  return new ServiceError(
    'origin_refused',
    `A page of ${JSON.stringify(origin.slice(0, 100))} may not call this service. If it should, name the origin in PERMITTED_CORS_ORIGINS.`,
  );
}

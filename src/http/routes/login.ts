import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Authenticator } from '../../auth/authenticator.ts';
import { problems } from '../../contract/problem.ts';
import { secretText } from '../../contract/text.ts';
import { ServiceError } from '../../errors.ts';
import { SESSION_COOKIE, requireOwnOrigin, sessionTokenOf } from '../auth.ts';
import type { Routes } from '../fastify-types.ts';
import { TokenBuckets } from '../token-buckets.ts';

const loginBody = z.strictObject({ key: secretText(500) });
const loginReply = z.object({ user: z.string() });

/** Wrong keys of one address: ten at once, then one in half a minute. */
const FAILURES = { perSecond: 1 / 30, burst: 10 };

/** A browser shows its key once, and from then on a cookie that no script can read. */
export function loginRoutes(auth: Authenticator): Routes {
  return (server, _options, done) => {
    const failures = new TokenBuckets(FAILURES);

    server.post(
      '/api/login',
      {
        config: { open: true },
        schema: {
          tags: ['log-in'],
          summary: 'Log a browser in',
          description: 'Sets a cookie that stands for the key for 30 days, or until the key ends.',
          body: loginBody,
          response: {
            200: loginReply,
            ...problems({
              401: 'This key does not let in.',
              403: 'A page of another origin asked.',
              429: 'Too many wrong keys came from this address.',
            }),
          },
        },
      },
      async (request, reply) => {
        // Another page must not log a browser in as somebody else.
        if (request.headers.origin !== undefined) requireOwnOrigin(request);
        const wait = failures.take(request.ip);
        if (wait > 0) {
          throw new ServiceError(
            'rate_limited',
            'Too many wrong keys came from this address; wait a little.',
            {
              retryAfter: wait,
            },
          );
        }
        const verdict = await auth.byKey(request.body.key.unwrap());
        if (!verdict.ok) {
          await auth.refusedLogin(verdict.why, request.ip);
          throw new ServiceError('unauthorized', 'This key does not let you in.');
        }
        failures.restore(request.ip);
        const { token, maxAgeSeconds } = await auth.openSession(verdict.principal, request.ip);
        setCookie(request, reply, token.unwrap(), maxAgeSeconds);
        return { user: verdict.principal.userName };
      },
    );

    server.post(
      '/api/logout',
      {
        config: { open: true },
        schema: {
          tags: ['log-in'],
          summary: 'Log a browser out',
          response: { 200: z.object({}), ...problems({ 403: 'A page of another origin asked.' }) },
        },
      },
      async (request, reply) => {
        const token = sessionTokenOf(request);
        if (token !== null) {
          requireOwnOrigin(request);
          await auth.closeSession(token);
        }
        setCookie(request, reply, '', 0);
        return {};
      },
    );
    done();
  };
}

function setCookie(request: FastifyRequest, reply: FastifyReply, value: string, maxAge: number): void {
  const isSecure = request.protocol === 'https' || request.server.publicUrl?.startsWith('https:');
  const secure = isSecure ? '; Secure' : '';
  reply.header(
    'set-cookie',
    `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`,
  );
}

import type { FastifyRequest } from 'fastify';
import type { Authenticator, Verdict } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import { ServiceError } from '../errors.ts';

export const SESSION_COOKIE = 'parley_session';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const WHY = {
  unknown: 'This key is not known.',
  revoked: 'This key was revoked.',
  expired: 'This key has expired.',
  disabled: 'The user of this key is disabled.',
} as const satisfies Record<(Verdict & { ok: false })['why'], string>;

/**
 * Who asks, by the header `X-Session-API-Key`, `Authorization: Bearer`, or the cookie of a log-in.
 * @throws ServiceError `unauthorized`; `origin_refused` for a cookie that another page made the browser send
 */
export async function principalOf(request: FastifyRequest, auth: Authenticator): Promise<Principal> {
  const key = keyOf(request);
  if (key !== null) return admitted(await auth.byKey(key));
  const token = sessionTokenOf(request);
  if (token === null) {
    throw new ServiceError(
      'unauthorized',
      'Send a key in the header X-Session-API-Key, or log in at /login; "parley keys create --user NAME" makes a key.',
    );
  }
  // A listed origin may read answers: with its own key, not as whoever is logged in here.
  if (!SAFE_METHODS.has(request.method) || request.headers.origin !== undefined) requireOwnOrigin(request);
  return admitted(await auth.bySession(token));
}

/**
 * Who wants to follow a conversation over Socket.IO: as {@link principalOf}, and by the key that pages of V0 put in
 * the address, as the string "null" when they have none. A page shows its cookie only from an origin of ours.
 */
export async function socketPrincipalOf(
  request: FastifyRequest,
  queryKey: string,
  auth: Authenticator,
): Promise<Principal> {
  if (queryKey !== '' && queryKey !== 'null') return admitted(await auth.byKey(queryKey));
  if (keyOf(request) === null && sessionTokenOf(request) !== null && !isSameOriginFetch(request)) {
    requireOwnOrigin(request);
  }
  return await principalOf(request, auth);
}

/** Long polling begins with a GET, for which a browser sends no `Origin` to its own; where it can be trusted, it says so here. */
function isSameOriginFetch({ headers }: FastifyRequest): boolean {
  return headers.origin === undefined && headers['sec-fetch-site'] === 'same-origin';
}

function admitted(verdict: Verdict): Principal {
  if (verdict.ok) return verdict.principal;
  throw new ServiceError('unauthorized', WHY[verdict.why]);
}

function keyOf({ headers }: FastifyRequest): string | null {
  const own = headers['x-session-api-key'];
  if (typeof own === 'string' && own !== '') return own;
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The token in the cookie of a log-in. */
export function sessionTokenOf({ headers }: FastifyRequest): string | null {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2);
    if (name?.trim() === SESSION_COOKIE && value) return value.trim();
  }
  return null;
}

/** A browser sends cookies for any page; it says in `Origin` whose page it was. @throws ServiceError `origin_refused` */
export function requireOwnOrigin(request: FastifyRequest): void {
  const own = request.server.publicUrl ?? `${request.protocol}://${request.host}`;
  if (request.headers.origin === own) return;
  throw new ServiceError(
    'origin_refused',
    'The cookie of a log-in counts for pages of this service itself alone: send an Origin that is ours, or a key.',
  );
}

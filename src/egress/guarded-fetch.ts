import type { Agent, fetch as undiciFetch } from 'undici';
import { guardedClient, type GuardedOptions } from './guarded-client.ts';
import { EgressRefused, type EgressPolicy } from './policy.ts';

/** A guarded `fetch`, and how to let go of its kept connections. */
export type GuardedFetch = typeof fetch & { close(): Promise<void> };

const REDIRECTS = 10;
/** All that goes along to another origin: a key may stand in any other header. */
const HARMLESS = new Set(['accept', 'accept-language', 'range', 'user-agent']);

/**
 * `fetch` for addresses that users give: the name is looked up once, its address checked by the policy, and that
 * address connected to, again at each redirect. A redirect to another origin gets no header that could hold a
 * credential, and no body. Rejects with EgressRefused, whose message says which host and what to set.
 */
export function guardedFetch(policy: EgressPolicy, options?: GuardedOptions): GuardedFetch {
  const client = guardedClient(policy, options);

  async function guarded(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    let next = firstHop(input, init);
    const redirect = next.redirect ?? 'follow';
    for (let hop = 0; hop <= REDIRECTS; hop += 1) {
      const { url, ...rest } = next;
      const { agent, fetch } = await client.open(url);
      const response = await send(fetch, url, { ...rest, redirect: 'manual' }, agent);
      const location = isRedirect(response.status) ? response.headers.get('location') : null;
      if (location === null || redirect === 'manual') return response;
      await response.body?.cancel();
      if (redirect === 'error') throw new TypeError(`${url.host} answered with a redirect`);
      next = nextHop(next, response.status, location);
    }
    throw new TypeError(`more than ${REDIRECTS} redirects`);
  }

  return Object.assign(guarded, { close: client.close });
}

type Hop = RequestInit & { url: URL; headers: Headers; method: string };

function firstHop(input: string | URL | Request, init: RequestInit): Hop {
  if (!(input instanceof Request)) {
    return { ...init, url: new URL(input), headers: new Headers(init.headers), method: init.method ?? 'GET' };
  }
  const { url, method, body, signal, redirect } = input;
  const headers = new Headers(init.headers ?? input.headers);
  return {
    method,
    body,
    signal,
    redirect,
    ...(body ? { duplex: 'half' } : {}),
    ...init,
    url: new URL(url),
    headers,
  };
}

/** RFC 9110, 15.4, with what every browser does: a POST that is answered by 301 or 302 goes on as GET. */
function nextHop(hop: Hop, status: number, location: string): Hop {
  const url = URL.parse(location, hop.url.href);
  if (!url) throw new TypeError(`${hop.url.host} answered with a redirect to nowhere`);
  const { body, ...next } = { ...hop, url, headers: new Headers(hop.headers) };
  const asGet = status === 303 ? hop.method !== 'HEAD' : status < 303 && hop.method === 'POST';
  if (asGet) next.method = 'GET';
  const other = url.origin !== hop.url.origin;
  for (const name of Array.from(next.headers.keys())) {
    if ((other && !HARMLESS.has(name)) || (asGet && name.startsWith('content-'))) next.headers.delete(name);
  }
  if (asGet || body === undefined || body === null) return next;
  if (other) {
    throw new EgressRefused(
      url.hostname,
      Number(url.port),
      `${hop.url.host} redirects to ${url.host}: what is sent would go elsewhere; store that address if it is the right one`,
    );
  }
  if (body instanceof ReadableStream)
    throw new TypeError(`${hop.url.host} redirects a body that is sent only once`);
  return { ...next, body };
}

async function send(
  fetch: typeof undiciFetch,
  url: URL,
  init: RequestInit,
  dispatcher: Agent,
): Promise<Response> {
  try {
    // Node's own types and undici's describe the same objects under two names.
    const options = { ...init, dispatcher } as Parameters<typeof undiciFetch>[1];
    return await fetch(url, options);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    throw cause instanceof EgressRefused ? cause : error;
  }
}

/** Whether `fetch` follows an answer of that status. */
export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

import { z } from 'zod';
import type { ProviderFailure } from './answer.ts';
import type { ApiPlace } from './api-place.ts';
import { listOf } from './list-of.ts';
import { jsonIn, type Reply } from './reply.ts';

/** How much of a provider's own sentence is shown. */
const SENTENCE = 300;

/**
 * Why this answer is none to the question; null when it is one.
 * @param what as it stands in a sentence: "the repository acme/app"
 */
export function statusFailure(place: ApiPlace, reply: Reply, what: string): ProviderFailure | null {
  const kind = place.judge?.(reply) ?? kindOf(place, reply);
  return kind === null ? null : failureOf(place, kind, what, reply);
}

const NO_REPLY: Reply = { status: 200, headers: new Map(), text: '' };

/** The failure of that kind in words for people; `reply` is what the provider said. */
export function failureOf(
  place: ApiPlace,
  kind: ProviderFailure['kind'],
  what: string,
  reply: Reply = NO_REPLY,
): ProviderFailure {
  const { name } = place;
  const { status, headers } = reply;
  const host = new URL(place.root).host;
  const said = sentenceOf(reply.text);
  const quoted = said === '' ? '' : ` It said: ${said}`;
  switch (kind) {
    case 'no_token':
      return { kind, message: `${name} does not show ${what} without a token: store one for ${host}.` };
    case 'refused':
      return { kind, message: `${host} refused the token (${status}): store a valid one for ${name}.` };
    case 'expired':
      return { kind, message: `The token for ${host} has expired: store a new one for ${name}.` };
    case 'without_scope': {
      const needs = scopeOf(reply);
      const scope = needs === null ? '' : ` It needs ${needs}.`;
      const message = `The token for ${host} may not be used for ${what}: give it the permission, or store another.${scope}${quoted}`;
      return { kind, needs, message };
    }
    case 'not_found':
      return { kind, message: notFound(place, status, what) };
    case 'rate_limited': {
      const until = limitEnd(headers);
      const when = until === null ? 'later' : `after ${until.toISOString()}`;
      return { kind, until, message: `${host} takes no more requests for now: try again ${when}.` };
    }
    case 'unavailable':
      return { kind, message: `${host} has an error of its own (${status}): try again later.` };
    case 'rejected':
      return { kind, message: `${name} would not do it for ${what}.${quoted}` };
    case 'too_large':
      return { kind, message: `${name} gave more for ${what} than is read here.` };
    case 'unsupported':
      return { kind, message: `${name} has no ${what}.` };
    case 'unexpected':
      return {
        kind,
        message: `${host} gave an unexpected answer (${status}) when it was asked for ${what}.${quoted}`,
      };
    default:
      return { kind, message: `${host} could not be asked for ${what}.` };
  }
}

function notFound({ name, root, token }: ApiPlace, status: number, what: string): string {
  if (status >= 300 && status < 400) {
    return `${new URL(root).host} redirects who asks for ${what} (${status}): use its new name, or check the host that is stored.`;
  }
  const seen = token ? 'the stored token may see it' : 'it is public, or store a token that may see it';
  return `${name} has no ${what.replace(/^the /, '')}: check the name, and that ${seen}.`;
}

function kindOf({ token }: ApiPlace, { status, headers, text }: Reply): ProviderFailure['kind'] | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return 'not_found';
  if (status >= 500) return 'unavailable';
  switch (status) {
    case 401:
      if (!token) return 'no_token';
      return /\b(is|has|token) expired\b/i.test(sentenceOf(text)) ? 'expired' : 'refused';
    case 403:
      if (isLimit(headers)) return 'rate_limited';
      return token ? 'without_scope' : 'no_token';
    case 404:
    case 410:
      return 'not_found';
    case 408:
      return 'unavailable';
    case 429:
      return 'rate_limited';
    case 400:
    case 405:
    case 406:
    case 409:
    case 412:
    case 413:
    case 415:
    case 422:
      return 'rejected';
    default:
      return 'unexpected';
  }
}

/** GitHub says 403 for a limit, too. */
function isLimit(headers: Reply['headers']): boolean {
  return headers.get('x-ratelimit-remaining') === '0' || headers.has('retry-after');
}

/** A date in HTTP begins with its weekday; `Date.parse` finds one in nearly everything. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** Retry-After is in seconds or a date (RFC 9110, 10.2.3); the others are the second of the epoch at which it ends. */
function limitEnd(headers: Reply['headers']): Date | null {
  const after = headers.get('retry-after') ?? '';
  if (/^\d{1,6}$/.test(after)) return dateOf(Date.now() + Number(after) * 1000);
  if (HTTP_DATE.test(after)) return dateOf(Date.parse(after));
  const reset = headers.get('x-ratelimit-reset') ?? headers.get('ratelimit-reset');
  return reset !== undefined && /^\d{1,11}$/.test(reset) ? dateOf(Number(reset) * 1000) : null;
}

/** A host may say any number; a day is the longest that is believed. What has passed is no end. */
function dateOf(ms: number): Date | null {
  const day = 24 * 60 * 60_000;
  const now = Date.now();
  return ms > now ? new Date(Math.min(ms, now + day)) : null;
}

/** Where providers name the scope that a token lacks. */
const lacking = z.object({
  /** GitLab. */
  scope: z.string().optional(),
  /** Bitbucket. */
  error: z
    .object({ detail: z.object({ required: listOf(z.string()) }) })
    .optional()
    .catch(undefined),
});

function scopeOf({ headers, text }: Reply): string | null {
  const named = headers.get('x-accepted-github-permissions') ?? headers.get('x-accepted-oauth-scopes');
  if (named) return oneLine(named);
  const said = lacking.safeParse(jsonIn(text)).data;
  const listed = said?.scope ?? said?.error?.detail.required.slice(0, 20).join(', ');
  // Forgejo: "token does not have at least one of required scope(s), required=[write:issue], token scope=…"
  const bracketed = /required=?\[([^\]]{1,200})\]/.exec(sentenceOf(text))?.[1];
  return oneLine(listed ?? bracketed ?? '') || null;
}

/** The members in which providers say what is wrong. */
const complaint = z.object({
  message: z.unknown(),
  error: z.unknown(),
  error_description: z.unknown(),
  errors: z.unknown(),
});

/** The provider's own sentence: one line of bounded length, "" when there is none. */
export function sentenceOf(text: string): string {
  const said = complaint.partial().safeParse(jsonIn(text)).data;
  if (!said) return '';
  const texts = [said.message, said.error_description, said.error, said.errors].flatMap((value) =>
    textsIn(value),
  );
  return oneLine([...new Set(texts)].join('; '));
}

/** Texts in what may be a text, a list, or an object with a message, three deep. */
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value.slice(0, SENTENCE)];
  if (typeof value !== 'object' || value === null || depth === 3) return [];
  const inside: unknown[] = Array.isArray(value)
    ? value
    : 'message' in value
      ? [value.message]
      : Object.values(value);
  return inside.slice(0, 5).flatMap((entry) => textsIn(entry, depth + 1));
}

function oneLine(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- a line must hold none
      .replaceAll(/[\s\u0000-\u001f\u007f]+/g, ' ')
      .trim()
      .slice(0, SENTENCE)
  );
}

/** The codes of OpenSSL and of Node for a certificate that is not trusted. */
const CERTIFICATE = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|SELF_SIGNED|ERR_TLS_CERT_ALTNAME/;

/** The codes of OpenSSL where something else than TLS came. */
const NO_TLS = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** The codes of undici where a connection was made and no head of HTTP came. */
const UNREAD = /^UND_ERR_(?:SOCKET|HEADERS_OVERFLOW)$/;

/** The rule that forbids the address says so itself; of other failures only their code: the rest may repeat the request. */
export function connectionFailure({ name }: ApiPlace, host: string, error: unknown): ProviderFailure {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'EgressRefused') return { kind: 'not_allowed', message: cause.message };
    // Of undici's parser; most often without a code.
    if (cause.name === 'HTTPParserError') {
      return { kind: 'unavailable', message: unreachable(`${host} gave no answer that can be read`) };
    }
    if (!('code' in cause) || typeof cause.code !== 'string') continue;
    if (CERTIFICATE.test(cause.code)) {
      const message = `${host} shows a certificate that is not trusted here (${cause.code}): have ${name}'s CA certificate named by NODE_EXTRA_CA_CERTS where this service is started.`;
      return { kind: 'certificate', message };
    }
    if (NO_TLS.test(cause.code)) {
      const message = `${host} does not speak HTTPS (${cause.code}): store the host with http:// before it if it is meant to be asked so.`;
      return { kind: 'unavailable', message };
    }
    const what = UNREAD.test(cause.code) ? 'gave no answer that can be read' : "can't be reached";
    return { kind: 'unavailable', message: unreachable(`${host} ${what} (${cause.code})`) };
  }
  return { kind: 'unavailable', message: unreachable(`${host} can't be reached`) };
}

/** What came after the head of an answer was no whole body: the connection ended, or it is not encoded as the head says. */
export function brokenOff(host: string, error: unknown): ProviderFailure {
  const code = codeOf(error);
  const shown = code === null ? '' : ` (${code})`;
  return {
    kind: 'unavailable',
    message: `${host} began an answer that could not be read to its end${shown}: try again later.`,
  };
}

function codeOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
  }
  return null;
}

function unreachable(what: string): string {
  return `${what}: check the host that is stored with the token, and that it is up.`;
}

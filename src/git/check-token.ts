import type { ProviderName } from '../contract/providers.ts';
import type { Secret } from '../secrets/secret.ts';
import { providerBase } from './provider-address.ts';

/** What a provider says of a token; `unverified` when it could not be asked, and why. */
export type TokenCheck =
  | { kind: 'verified'; login: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'unverified'; reason: string };

const DEADLINE_MS = 3_000;
/** An answer about one user is a few kilobytes. */
const ANSWER_BYTES = 256 * 1024;

/** How a provider is asked whose token it is. */
interface Question {
  url: string;
  authorization: string;
  login: (answer: Json) => unknown;
  /** Statuses that mean "no" here, besides 401. */
  refusals?: readonly number[];
}
type Json = Readonly<Record<string, unknown>>;

/**
 * Asks a provider whose token this is, at its own host and nowhere else: redirects are not followed. At most three
 * seconds. Never rejects, unless `signal` is aborted.
 */
export async function checkToken(
  { provider, host, token }: { provider: ProviderName; host: string; token: Secret },
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<TokenCheck> {
  const asked = questionFor(provider, host, token);
  if (typeof asked === 'string') return { kind: 'unverified', reason: asked };
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const name = new URL(asked.url).host;
  try {
    const response = await fetch(asked.url, {
      headers: { authorization: asked.authorization, accept: 'application/json', 'user-agent': 'parley' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, deadline]),
    });
    return await readAnswer(response, asked, name);
  } catch (error) {
    signal.throwIfAborted();
    const late = deadline.aborted;
    return {
      kind: 'unverified',
      reason: late ? `${name} did not answer within ${DEADLINE_MS / 1000} s` : unreachable(name, error),
    };
  }
}

async function readAnswer(response: Response, asked: Question, name: string): Promise<TokenCheck> {
  const { status } = response;
  if (status === 401 || asked.refusals?.includes(status)) {
    await response.body?.cancel();
    return { kind: 'refused', reason: `${name} refused it (${status})` };
  }
  if (status !== 200) {
    await response.body?.cancel();
    return { kind: 'unverified', reason: `${name} answered ${status} when it was asked whose token this is` };
  }
  const answer = await readJson(response);
  const login = answer && asked.login(answer);
  if (typeof login === 'string' && login !== '') return { kind: 'verified', login: login.slice(0, 255) };
  return { kind: 'unverified', reason: `${name} answered, but did not say whose token this is` };
}

/** The question, or why there is none. */
function questionFor(provider: ProviderName, host: string, token: Secret): Question | string {
  const base = providerBase(provider, host);
  const bearer = `Bearer ${token.unwrap()}`;
  if (base === null || provider === 'enterprise_sso') return 'enterprise_sso has no check';
  switch (provider) {
    case 'github': {
      const api = base === 'https://github.com' ? 'https://api.github.com' : `${base}/api/v3`;
      return { url: `${api}/user`, authorization: bearer, login: (user) => user['login'] };
    }
    case 'gitlab':
      return { url: `${base}/api/v4/user`, authorization: bearer, login: (user) => user['username'] };
    case 'forgejo':
      return {
        url: `${base}/api/v1/user`,
        authorization: `token ${token.unwrap()}`,
        login: (user) => user['login'],
      };
    case 'bitbucket': {
      const api = base === 'https://bitbucket.org' ? 'https://api.bitbucket.org' : base;
      const authorization = token.unwrap().includes(':') ? basic(token.unwrap()) : bearer;
      return {
        url: `${api}/2.0/user`,
        authorization,
        login: (user) => user['username'] ?? user['display_name'],
      };
    }
    default:
      return azureQuestion(base, token);
  }
}

/** Azure knows users only within an organisation, and answers a wrong token with its sign-in page. */
function azureQuestion(base: string, token: Secret): Question | string {
  if (new URL(base).pathname === '/') {
    return 'Azure DevOps checks tokens within an organisation: give host as dev.azure.com/ORGANISATION';
  }
  return {
    url: `${base}/_apis/connectionData`,
    authorization: basic(`:${token.unwrap()}`),
    refusals: [203, 302],
    login: (data) => accountOf(data['authenticatedUser']),
  };
}

function accountOf(user: unknown): unknown {
  const account = memberOf(memberOf(user, 'properties'), 'Account');
  return memberOf(account, '$value') ?? memberOf(user, 'providerDisplayName');
}

function memberOf(value: unknown, name: string): unknown {
  return isJson(value) ? value[name] : undefined;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function basic(credential: string): string {
  return `Basic ${Buffer.from(credential).toString('base64')}`;
}

/** Null when it is no JSON object of a sane size. */
async function readJson(response: Response): Promise<Json | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return isJson(value) ? value : null;
  } catch {
    return null;
  }
}

/** The rule that forbids the address says so itself; of other failures only their code: the rest may repeat the request. */
function unreachable(name: string, error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'EgressRefused') return cause.message;
    if ('code' in cause && typeof cause.code === 'string') return `${name} can't be reached (${cause.code})`;
  }
  return `${name} can't be reached`;
}

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Egress } from '../../egress/destination.ts';
import type { Outgoing } from './forward.ts';
import { originInside, type GitFront } from './git-front.ts';
import { gitRoute, LFS_ACTIONS, onlyOne, type GitRoute } from './git-route.ts';
import { headersToForward } from './headers.ts';
import { LfsActions } from './lfs-actions.ts';
import type { Refusal } from './refusal.ts';

/** What the sandbox is answered: the host's own body streamed on (`body: null`), or one made here. */
export interface Answer {
  status: number;
  headers: OutgoingHttpHeaders;
  body: string | null;
}

export type Passed = Extract<GitRoute, { to: 'repository' | 'other' | 'lfsAction' }>;

/** With the token only what git and LFS need goes along: no `X-HTTP-Method-Override`, `Sudo`, `X-Forwarded-Host`, … */
const REQUEST_HEADERS = ['accept', 'content-encoding', 'content-type', 'git-protocol', 'range', 'user-agent'];
const ANSWER_HEADERS_DROPPED = ['set-cookie', 'strict-transport-security', 'www-authenticate'];
const BATCH_ANSWER_BYTES = 16 * 1024 * 1024;

/** The provider of one conversation: adds the token to what goes to its repository, and takes it out of what returns. */
export class GitHost {
  readonly #front: GitFront;
  readonly #base: URL;
  readonly #authorization: string | null;
  readonly #secrets: readonly string[];
  readonly #actions = new LfsActions();
  readonly #egress: { provider: Egress; sandbox: Egress };

  /** @param egress `provider`: the host was named by the user; `sandbox`: an LFS answer may name any other. */
  constructor(front: GitFront, egress: { provider: Egress; sandbox: Egress }) {
    this.#front = front;
    this.#base = new URL(front.base);
    this.#egress = egress;
    const token = front.credential?.token.unwrap();
    const basic = Buffer.from(`${front.credential?.username ?? ''}:${token ?? ''}`).toString('base64');
    this.#authorization = token === undefined ? null : `Basic ${basic}`;
    this.#secrets = token === undefined ? [] : [token, basic];
  }

  /** Whose it is; null when its front does not say. */
  get conversation(): number | null {
    return this.#front.conversation ?? null;
  }

  get repository(): string {
    return this.#front.repository;
  }

  /** @param raw the request's target as it came, of which `target` is the reading */
  route(method: string, target: URL, raw: string): GitRoute {
    return gitRoute(this.#front, method, target, raw);
  }

  /** The request as it leaves; null when an LFS address is not known (any more). */
  outgoing(incoming: IncomingMessage, route: Passed): Outgoing | null {
    const all = headersToForward(incoming);
    const headers: OutgoingHttpHeaders = { 'accept-encoding': 'identity' };
    for (const name of REQUEST_HEADERS) if (all[name] !== undefined) headers[name] = all[name];

    if (route.to === 'lfsAction') {
      const action = this.#actions.find(route.id);
      if (!action) return null;
      const own = action.href.origin === this.#base.origin;
      for (const [name, value] of Object.entries(action.headers)) {
        if (!/^(host|connection|content-length|transfer-encoding|upgrade)$/i.test(name))
          headers[name.toLowerCase()] = value;
      }
      if (own && this.#isInRepository(action.href)) this.#authorize(headers);
      const { pathname, search } = action.href;
      return {
        url: action.href,
        path: `${pathname}${search}`,
        headers,
        egress: own ? this.#egress.provider : this.#egress.sandbox,
      };
    }
    if (route.to === 'repository' || route.withToken) this.#authorize(headers);
    return { url: this.#base, path: route.path, headers, egress: this.#egress.provider };
  }

  /** A question of the gateway's own to the conversation's repository. */
  question(path: string, headers: OutgoingHttpHeaders): Outgoing {
    const authorized = { 'accept-encoding': 'identity', 'user-agent': 'git/parley', ...headers };
    this.#authorize(authorized);
    return { url: this.#base, path, headers: authorized, egress: this.#egress.provider };
  }

  /** What of the host's answer goes inside. */
  async answer(answer: IncomingMessage, route: Passed): Promise<Answer | Refusal> {
    const status = answer.statusCode ?? 502;
    if (status === 401) return { status: 403, reason: this.#unauthorized(route) };
    const headers = headersToForward(answer, ANSWER_HEADERS_DROPPED);
    if (typeof headers['location'] === 'string') {
      const location = this.#locationInside(headers['location']);
      if (location === null) delete headers['location'];
      else headers['location'] = location;
    }
    for (const [name, value] of Object.entries(headers)) {
      if (this.#shows(String(value))) delete headers[name];
    }
    if (route.to !== 'repository' || !route.lfsBatch || status >= 300) return { status, headers, body: null };

    const body = await this.#batchInside(answer);
    if (body === null) {
      return { status: 502, reason: `${this.#base.host} sent an LFS answer that can't be passed on` };
    }
    delete headers['content-length'];
    delete headers['etag'];
    return { status, headers, body };
  }

  async #batchInside(answer: IncomingMessage): Promise<string | null> {
    const text = await readAtMost(answer, BATCH_ANSWER_BYTES);
    if (text === null) return null;
    const { origin, pathname } = this.#base;
    const repository = `${originInside(this.#front)}${pathname.replace(/\/*$/, '/')}${this.#front.repository}`;
    const body = this.#actions.rewrite(text, `${repository}/${LFS_ACTIONS}`, origin);
    return body === null || this.#shows(body) ? null : body;
  }

  #shows(text: string): boolean {
    return this.#secrets.some((secret) => text.includes(secret));
  }

  #authorize(headers: OutgoingHttpHeaders): void {
    if (this.#authorization !== null && headers['authorization'] === undefined) {
      headers['authorization'] = this.#authorization;
    }
  }

  #isInRepository(href: URL): boolean {
    const prefix = `${this.#base.pathname.replace(/\/*$/, '/')}${this.#front.repository}`.toLowerCase();
    const path = href.pathname.toLowerCase();
    return path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}.git/`);
  }

  #unauthorized(route: Passed): string {
    if (route.to === 'other') return onlyOne(this.#front, route.repository);
    const { host } = this.#base;
    return this.#authorization === null
      ? `${host} wants a token for ${this.#front.repository}, and none is stored for it`
      : `${host} did not accept the stored token for ${this.#front.repository}: store one that may use it`;
  }

  /** A redirect within the provider stays with the gateway; none carries a user name or a password. */
  #locationInside(location: string): string | null {
    const url = URL.parse(location, this.#base.href);
    if (!url) return null;
    if (url.origin !== this.#base.origin) {
      [url.username, url.password] = ['', ''];
      return url.href;
    }
    return `${originInside(this.#front)}${url.pathname}${url.search}`;
  }
}

async function readAtMost(answer: IncomingMessage, bytes: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

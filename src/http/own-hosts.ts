import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { HostList } from '../egress/host-list.ts';
import { ServiceError } from '../errors.ts';

/** Where the service is, as those see it who come to it. */
export interface Place {
  /** The origin it is reached by, when that is not what it listens on: `https://parley.example`. */
  publicUrl: string | null;
  /** Addresses, networks or `loopback`: whose `X-Forwarded-…` headers are believed. */
  trustedProxies: readonly string[];
  /** Names beside that of the public URL; null when none were given. */
  allowedHosts: HostList | null;
  /** It listens on loopback alone. */
  loopback: boolean;
}

/** How many spellings of names that are ours are remembered, so that a request costs one look. */
const REMEMBERED = 100;

/**
 * Turns away requests for names that are not ours. A page of another site can have its own name lead to this machine
 * (DNS rebinding) and then reads what a browser here may read; the `Host` it sends still is its own.
 */
export function refuseOtherHosts(server: FastifyInstance, place: Place): void {
  const known = new Set<string>();
  const check = (host: string): void => {
    if (known.has(host)) return;
    if (!isOwn(host, place)) throw notOurs(host);
    if (known.size < REMEMBERED) known.add(host);
  };
  server.addHook('onRequest', (request, _reply, done) => {
    const { httpVersion, headers } = request.raw;
    // RFC 9112, 3.2. Node would refuse it too, without a problem.
    if (httpVersion === '1.1' && headers.host === undefined) throw withoutHost();
    // Both: a page may send the second header itself, and a proxy passes the first one on.
    for (const host of hostsOf(request)) check(host);
    done();
  });
}

/** Whether the request was sent to an address or to `localhost`, which no one can lead elsewhere. */
export function isForThisMachine(request: FastifyRequest): boolean {
  return hostsOf(request).every((host) => isFixed(nameOf(host) ?? ''));
}

function hostsOf(request: FastifyRequest): string[] {
  const { host } = request.headers;
  const hosts = host === undefined ? [] : [host];
  if ('x-forwarded-host' in request.headers) hosts.push(request.host);
  return hosts;
}

function isOwn(host: string, { publicUrl, allowedHosts, loopback }: Place): boolean {
  const name = nameOf(host);
  if (name === null) return false;
  if (isFixed(name)) return true;
  if (publicUrl !== null && new URL(publicUrl).hostname === name) return true;
  if (allowedHosts !== null) return allowedHosts.all || allowedHosts.names(name, portOf(host));
  // Who listens for a network without saying by which name is reached by any: others see the same there.
  return !loopback && publicUrl === null;
}

/** An address, or `localhost`: no name server is asked for it. */
function isFixed(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || /^(.+\.)?localhost\.?$/.test(name);
}

function nameOf(host: string): string | null {
  return (/[/?#@\\\s]/.test(host) ? null : URL.parse(`http://${host}`))?.hostname ?? null;
}

function portOf(host: string): number {
  return Number(URL.parse(`http://${host}`)?.port) || 80;
}

function withoutHost(): ServiceError {
  return new ServiceError('malformed_http', 'A request of HTTP/1.1 names its host: send the header Host.');
}

function notOurs(host: string): ServiceError {
  return new ServiceError(
    'host_refused',
    `This service is not ${JSON.stringify(host.slice(0, 100))}. If it should be, name it in PARLEY_PUBLIC_URL or PARLEY_ALLOWED_HOSTS.`,
  );
}

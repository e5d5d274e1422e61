import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** Meant for one connection only (RFC 9110, 7.6.1), or for a proxy. */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** All headers that go on: every value of each, without those of this hop and without the ones named. */
export function headersToForward(
  message: IncomingMessage,
  without: readonly string[] = [],
): OutgoingHttpHeaders {
  const dropped = new Set([...HOP_BY_HOP, ...without]);
  for (const name of (message.headers.connection ?? '').split(',')) dropped.add(name.trim().toLowerCase());
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    if (values && !dropped.has(name)) headers[name] = values.length === 1 ? values[0] : values;
  }
  return headers;
}

/**
 * How the body is framed on the way out, said anew instead of copied: Node has read it by one rule (it refuses a
 * message with both lengths), and the next server must not read it by another.
 */
export function framing(method: string, headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' };
  if (headers['content-length'] !== undefined) return { 'content-length': headers['content-length'] };
  return /^(POST|PUT|PATCH)$/.test(method) ? { 'content-length': '0' } : {};
}

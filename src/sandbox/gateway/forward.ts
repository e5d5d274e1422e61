import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { connectSecurely, connectTo } from '../../egress/connect.ts';
import { findDestination, type Egress } from '../../egress/destination.ts';
import { request } from '../../node-http.ts';
import { framing } from './headers.ts';

/** One request as it leaves. */
export interface Outgoing {
  /** Scheme, host and port to connect to. */
  url: URL;
  /** The target that the host reads: path and query. */
  path: string;
  headers: OutgoingHttpHeaders;
  egress: Egress;
}

/** A git host may work for minutes (hooks of a push) before the next byte comes. */
const SILENT_MS = 15 * 60_000;

/**
 * Sends a request on, its body streamed at the pace at which the host takes it, over a connection of its own.
 * Resolves with the head of the answer; rejects when the host is refused, can't be reached, or is silent too long.
 */
export async function forward(
  incoming: IncomingMessage,
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const method = incoming.method ?? 'GET';
  const headers = { ...outgoing.headers, ...framing(method, incoming.headers) };
  return send(method, { ...outgoing, headers }, incoming, signal);
}

/**
 * Sends a request of ours with this body, which the headers frame. As {@link forward}; rejects with the body's own
 * error when that breaks off, and the host has got no whole request then.
 */
export async function send(
  method: string,
  { url, path, headers, egress }: Outgoing,
  body: Readable | Buffer | null,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  const port = Number(url.port) || (secure ? 443 : 80);
  const destination = await findDestination(egress, url.hostname, port);
  const socket = await (secure ? connectSecurely : connectTo)(destination, signal);

  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({
    createConnection: () => socket,
    method,
    path,
    headers: { ...headers, host: url.host },
    setHost: false,
    signal,
  });
  sent.setTimeout(SILENT_MS, () => sent.destroy(new Error(`${url.hostname} was silent for too long`)));
  sent.once('response', resolve);
  sent.on('error', reject);
  if (body === null || Buffer.isBuffer(body)) sent.end(body);
  else streamInto(sent, body);
  return promise;
}

function streamInto(sent: ReturnType<typeof request>, body: Readable): void {
  // The host may answer and close before it has read all: the rest is read away, so that the answer gets through.
  sent.on('error', () => body.unpipe(sent).resume());
  body.once('error', (error) => sent.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) sent.destroy();
  });
  body.pipe(sent);
}

import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { connectSecurely, connectTo } from '../../egress/connect.ts';
import { findDestination, type Egress } from '../../egress/destination.ts';
import { framing } from './headers.ts';

/** One request as it leaves. */
export interface Outgoing {
  /** Scheme, host and port to connect to. */
  url: URL;
  /** The target that the host reads: path and query. */
  path: string;
  headers: OutgoingHttpHeaders;
  egress: Egress;
  /** Sees the body as it passes. */
  tap?: (chunk: Buffer) => void;
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
  const { url, path, egress } = outgoing;
  const method = incoming.method ?? 'GET';
  const secure = url.protocol === 'https:';
  const port = Number(url.port) || (secure ? 443 : 80);
  const destination = await findDestination(egress, url.hostname, port);
  const socket = await (secure ? connectSecurely : connectTo)(destination, signal);
  const headers = { ...outgoing.headers, ...framing(method, incoming.headers), host: url.host };

  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({ createConnection: () => socket, method, path, headers, setHost: false, signal });
  sent.setTimeout(SILENT_MS, () => sent.destroy(new Error(`${url.hostname} was silent for too long`)));
  sent.once('response', resolve);
  sent.on('error', (error) => {
    reject(error);
    // The host may answer and close before it has read all: the rest is read away, so that the answer gets through.
    incoming.unpipe(sent);
    incoming.resume();
  });
  incoming.once('close', () => {
    if (!incoming.complete) sent.destroy();
  });
  incoming.pipe(sent);
  // Only now: a listener makes the body flow.
  if (outgoing.tap) incoming.on('data', outgoing.tap);
  return promise;
}

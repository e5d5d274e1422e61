import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { TimeLimit } from '../time-limit.ts';
import type { Destination } from './destination.ts';

const CONNECT_MS = 10_000;
/** Then the next address of the same host is tried instead; the last one has all of the time. */
const NEXT_ADDRESS_MS = 1_000;

/** A TCP connection to one of the checked addresses, within 10 s. Rejects with Node's error, or when the signal aborts. */
export async function connectTo(destination: Destination, signal?: AbortSignal): Promise<Socket> {
  const { host, port, lookup } = destination;
  const socket = connect({
    host,
    port,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    allowHalfOpen: true,
    keepAlive: true,
    noDelay: true,
  });
  return ready(socket, 'connect', signal);
}

/** The same with TLS on it, the certificate checked for the host's name. */
export async function connectSecurely(destination: Destination, signal?: AbortSignal): Promise<Socket> {
  const { host } = destination;
  const socket = await connectTo(destination, signal);
  const secure = connectTls({
    socket,
    host,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) ? {} : { servername: host }),
  });
  return ready(secure, 'secureConnect', signal);
}

async function ready<S extends Socket>(
  socket: S,
  event: string,
  signal: AbortSignal | undefined,
): Promise<S> {
  using limit = new TimeLimit(signal ?? new AbortController().signal, CONNECT_MS);
  try {
    await once(socket, event, { signal: limit.signal });
    return socket;
  } catch (error) {
    // A connection that is being given up may still fail.
    socket.on('error', () => {});
    socket.destroy();
    if (limit.isOver)
      throw Object.assign(new Error('the host did not answer in time'), { code: 'ETIMEDOUT' });
    throw error;
  }
}

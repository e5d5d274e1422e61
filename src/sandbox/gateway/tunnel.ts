import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connectTo } from '../../egress/connect.ts';
import { findDestination, type Egress } from '../../egress/destination.ts';

const SILENT_MS = 15 * 60_000;

/**
 * Answers a CONNECT: joins the program to an allowed host until both have ended, or nothing passed for 15 minutes.
 * Rejects as long as nothing was answered.
 * @param head what the program sent right behind its request
 */
export async function openTunnel(
  egress: Egress,
  target: { host: string; port: number },
  client: Duplex,
  head: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  client.once('close', () => gone.abort());
  const destination = await findDestination(egress, target.host, target.port);
  const host = await connectTo(destination, AbortSignal.any([gone.signal, signal]));
  host.setTimeout(SILENT_MS, () => host.destroy());
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  host.write(head);
  // Each end may stop sending first; when one breaks, both are gone, and there is nobody left to tell.
  await Promise.allSettled([pipeline(client, host), pipeline(host, client)]);
}

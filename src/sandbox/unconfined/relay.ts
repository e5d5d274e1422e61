import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { once } from 'node:events';

export interface Relay {
  port: number;
  close(): Promise<void>;
}

/**
 * Brings connections from a free port of loopback to the gateway's unix socket. Who reaches the gateway has the
 * conversation's way out with its token, so connections of another user of this machine are dropped.
 */
export async function startRelay(socketPath: string): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (incoming) => {
    open.add(incoming);
    incoming.once('close', () => open.delete(incoming));
    incoming.on('error', () => incoming.destroy());
    void relay(incoming, socketPath);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return {
    port: address.port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

async function relay(incoming: Socket, socketPath: string): Promise<void> {
  const uid = await peerUid(incoming);
  if (uid === null || uid !== process.getuid?.()) {
    incoming.destroy();
    return;
  }
  const outgoing = connect({ path: socketPath, allowHalfOpen: true });
  const end = (error: unknown): void => {
    if (!error) return;
    incoming.destroy();
    outgoing.destroy();
  };
  pipeline(incoming, outgoing, end);
  pipeline(outgoing, incoming, end);
}

/** The user at the other end of a connection over loopback, by proc(5) `net/tcp`; null when it is not listed. */
async function peerUid({ remotePort, localPort }: Socket): Promise<number | null> {
  const [local, remote] = [`0100007F:${hex(remotePort)}`, `0100007F:${hex(localPort)}`];
  const lines = (await readFile('/proc/net/tcp', 'latin1').catch(() => '')).split('\n');
  for (const line of lines) {
    const columns = line.trim().split(/\s+/);
    if (columns[1] === local && columns[2] === remote) return Number(columns[7]);
  }
  return null;
}

const hex = (port: number | undefined): string => (port ?? 0).toString(16).toUpperCase().padStart(4, '0');

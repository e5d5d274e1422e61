import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below what systems give to whoever asks for any port: 32768 and up on Linux, 49152 on macOS. */
const FIRST = 12_000;
const LAST = 30_000;
/** The ports of a block. */
const EACH = 20;
const BLOCKS = (LAST - FIRST) / EACH;

/** Ports that nobody else takes, and that were not given out yet. */
const left: number[] = [];
/** Test files run side by side, each in a process of its own: each begins in a place of its own. */
let block = process.pid % BLOCKS;

/**
 * A port of loopback that is free, and stays so while who listens there is started again, or has gone: one that the
 * system gave out may by then be another's.
 */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = left.shift();
    if (port === undefined) {
      left.push(...(await ownBlock()));
      continue;
    }
    const probe = await listenAt(port);
    if (probe === null) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}

/** Whoever listens at the first port of a block has the others, until the process ends. */
async function ownBlock(): Promise<number[]> {
  for (;;) {
    const first = FIRST + block * EACH;
    block = (block + 1) % BLOCKS;
    const holder = await listenAt(first);
    if (holder === null) continue;
    holder.unref();
    return Array.from({ length: EACH - 1 }, (_, n) => first + 1 + n);
  }
}

/** Null where somebody else listens. */
async function listenAt(port: number): Promise<Server | null> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  } catch {
    return null;
  }
}

import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what systems give to whoever asks for any port: 32768 and up on Linux, 49152 on macOS. */
const FIRST = 12_000;
const LAST = 30_000;
/** Test files run side by side, each in a process of its own: each begins in a place of its own. */
const EACH = 20;

let next = FIRST + ((process.pid * EACH) % (LAST - FIRST));

/**
 * A port of loopback that is free, and stays so while who listens there is started again: one that the system gave
 * out may by then be another's.
 */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

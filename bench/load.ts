/**
 * Sends POSTs of the bodies on its standard input, a JSON list, in turn, over as many connections as asked, each one
 * at a time, for some seconds, and prints what came of it as JSON. A program of its own, so that it shares no event loop with what it measures; plain sockets, so that
 * it costs little beside it.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

export interface LoadResult {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  median: number;
  p99: number;
}

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    path: { type: 'string' },
    keys: { type: 'string' },
    connections: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const required = (name: keyof typeof values): string => {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
};

const bodies: unknown[] = JSON.parse(await text(process.stdin));
const keys = required('keys').split(',');
const requests = Array.from({ length: Math.max(bodies.length, keys.length) }, (_, n) => {
  const bytes = Buffer.from(JSON.stringify(bodies[n % bodies.length]));
  const head =
    `POST ${required('path')} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
    `X-Session-API-Key: ${keys[n % keys.length]}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
});
let next = 0;
const latencies: number[] = [];
const until = performance.now() + Number(required('seconds')) * 1000;

const begun = performance.now();
await Promise.all(Array.from({ length: Number(required('connections')) }, sendUntilDone));
const elapsed = performance.now() - begun;

latencies.sort((a, b) => a - b);
const at = (share: number) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
const result: LoadResult = {
  requests: latencies.length,
  perSecond: latencies.length / (elapsed / 1000),
  median: at(0.5),
  p99: at(0.99),
};
process.stdout.write(JSON.stringify(result));

function sendUntilDone(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(required('port')), noDelay: true });
    let received = '';
    let sent = 0;
    const send = () => {
      sent = performance.now();
      socket.write(requests[next % requests.length] ?? '');
      next += 1;
    };
    socket.setEncoding('latin1');
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    socket.on('data', (chunk: string) => {
      received += chunk;
      const length = lengthOf(received);
      if (length === undefined || received.length < length) return;
      if (!received.startsWith('HTTP/1.1 200')) {
        reject(new Error(`not a 200: ${received}`));
        return;
      }
      latencies.push(performance.now() - sent);
      received = received.slice(length);
      if (performance.now() < until) {
        send();
        return;
      }
      socket.removeAllListeners('close');
      socket.destroy();
      resolve();
    });
  });
}

/** Of the whole answer, once its head is there. */
function lengthOf(answer: string): number | undefined {
  const end = answer.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, end))?.[1];
  if (length === undefined) throw new Error('an answer without a length');
  return end + 4 + Number(length);
}

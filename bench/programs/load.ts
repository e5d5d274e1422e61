/**
 * Sends the requests of a {@link LoadSpec} in turn, over as many connections as asked, each one at a time, for some
 * seconds, and prints a {@link LoadResult}. A program of its own, so that it shares no event loop with what it
 * measures; plain sockets, so that it costs little beside it.
 */
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';

export interface LoadSpec {
  port: number;
  connections: number;
  seconds: number;
  requests: { method: string; path: string; key: string; body?: unknown }[];
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  median: number;
  p95: number;
  p99: number;
}

const { port, connections, seconds, requests } = (await json(process.stdin)) as LoadSpec;
const texts = requests.map(({ method, path, key, body }) => {
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const content =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${bytes.length}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-API-Key: ${key}\r\n${content}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
});
let next = 0;
const latencies: number[] = [];

const begun = performance.now();
const until = begun + seconds * 1000;
await Promise.all(Array.from({ length: connections }, sendUntilDone));
const elapsed = performance.now() - begun;

latencies.sort((a, b) => a - b);
const at = (share: number) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
const result: LoadResult = {
  requests: latencies.length,
  perSecond: latencies.length / (elapsed / 1000),
  median: at(0.5),
  p95: at(0.95),
  p99: at(0.99),
};
process.stdout.write(JSON.stringify(result));

function sendUntilDone(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    let received = '';
    let sent = 0;
    const send = () => {
      sent = performance.now();
      socket.write(texts[next % texts.length] ?? '');
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

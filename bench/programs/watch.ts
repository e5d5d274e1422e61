/**
 * Follows conversations with many clients, by server-sent events or Socket.IO over WebSocket, says something in one
 * conversation after the other, and notes when each client has it. Its input is a {@link WatchSpec}, what it prints a
 * {@link WatchResult}. One process, so that one clock times both ends; plain sockets, so that it costs little itself.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { processorTime } from '../support/processes.ts';

export interface WatchSpec {
  port: number;
  /** The server's process. */
  pid: number;
  key: string;
  transport: 'sse' | 'socketio';
  /** Their ids. Clients are spread over them evenly. */
  conversations: string[];
  clients: number;
  perSecond: number;
  seconds: number;
}

export interface WatchResult {
  /** Events that reached a client; all of them, or it fails. */
  deliveries: number;
  /** Milliseconds from the request that appends an event until a client has it. */
  median: number;
  p95: number;
  p99: number;
  /** Microseconds of processor for each delivery, what it took to append the events among them. */
  processorTime: { server: number; clients: number };
}

const PATIENCE_MS = 20_000;
/** Clients that come at once. */
const AT_ONCE = 50;
const MARK = 'mark-';
const LONGEST_MARK = 20;
const READ = Buffer.allocUnsafe(64 * 1024);

const spec = (await json(process.stdin)) as WatchSpec;
const agent = new Agent({ keepAlive: true });
/** When each mark was sent. */
const sent: number[] = [];
const latencies: number[] = [];

const sockets: Socket[] = [];
for (let n = 0; n < spec.clients; n += AT_ONCE) {
  const some = Array.from({ length: Math.min(AT_ONCE, spec.clients - n) }, (_, m) =>
    join(spec.conversations[(n + m) % spec.conversations.length] ?? ''),
  );
  sockets.push(...(await Promise.all(some)));
}
// One round that is not counted: a client is there once it has received something.
for (const conversation of spec.conversations) await say(conversation, 'Hello');
await sleep(500);

const used = { server: await processorTime(spec.pid), clients: await processorTime(process.pid) };
const begun = performance.now();
const posts: Promise<void>[] = [];
const rounds = spec.perSecond * spec.seconds;
for (let n = 0; n < rounds; n += 1) {
  await sleep(Math.max(0, begun + (n * 1000) / spec.perSecond - performance.now()));
  sent.push(performance.now());
  posts.push(say(spec.conversations[n % spec.conversations.length] ?? '', `${MARK}${n}-`));
}
await Promise.all(posts);
const expected = (rounds * spec.clients) / spec.conversations.length;
const deadline = performance.now() + PATIENCE_MS;
while (latencies.length < expected && performance.now() < deadline) await sleep(20);
used.server = (await processorTime(spec.pid)) - used.server;
used.clients = (await processorTime(process.pid)) - used.clients;
for (const socket of sockets) socket.destroy();
agent.destroy();
if (latencies.length !== expected)
  throw new Error(`${latencies.length} of ${expected} events reached a client`);

latencies.sort((a, b) => a - b);
const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
const result: WatchResult = {
  deliveries: latencies.length,
  median: at(0.5),
  p95: at(0.95),
  p99: at(0.99),
  processorTime: { server: used.server / latencies.length, clients: used.clients / latencies.length },
};
process.stdout.write(JSON.stringify(result));

async function join(conversation: string): Promise<Socket> {
  const joined = Promise.withResolvers<Socket>();
  let end = '';
  let last = -1;
  let hasAsked = false;
  const read = (count: number): boolean => {
    // A mark may be cut in two by the end of what was read; one that is seen again is not counted again.
    const text = end + READ.toString('latin1', 0, count);
    end = text.slice(-LONGEST_MARK);
    last = note(text, last);
    if (/^HTTP\/1\.1 (200|101)/.test(text)) joined.resolve(socket);
    else if (text.startsWith('HTTP/')) joined.reject(new Error(text));
    if (spec.transport === 'socketio' && !hasAsked && text.includes('0{"sid"')) {
      hasAsked = true;
      socket.write(frame('40'));
    }
    return true;
  };
  // All clients read into one buffer, past the machinery of streams: their program shares the machine with the server.
  const onread = { buffer: READ, callback: read };
  const socket = connect({ host: '127.0.0.1', port: spec.port, noDelay: true, onread });
  socket.on('error', joined.reject);
  socket.on('close', () => joined.reject(new Error('the server closed the connection of a client')));
  socket.write(spec.transport === 'sse' ? streamRequest(conversation) : upgradeRequest(conversation));
  return await joined.promise;
}

/** Notes the marks after the `last` that this client has seen, and gives the newest: an event says its content twice. */
function note(text: string, last: number): number {
  let newest = last;
  for (let at = text.indexOf(MARK); at !== -1; at = text.indexOf(MARK, at + 1)) {
    const end = text.indexOf('-', at + MARK.length);
    const n = end === -1 ? -1 : Number(text.slice(at + MARK.length, end));
    if (n === newest || !(n >= 0)) continue;
    newest = n;
    latencies.push(performance.now() - (sent[n] ?? Number.NaN));
  }
  return newest;
}

function streamRequest(conversation: string): string {
  return `GET /api/conversations/${conversation}/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-API-Key: ${spec.key}\r\n\r\n`;
}

function upgradeRequest(conversation: string): string {
  const query = `EIO=4&transport=websocket&conversation_id=${conversation}&latest_event_id=-1&session_api_key=${spec.key}`;
  return (
    `GET /socket.io/?${query} HTTP/1.1\r\nHost: 127.0.0.1:${spec.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`
  );
}

/** A short text of a client (RFC 6455, 5.2), masked with zeros. */
function frame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

function say(conversation: string, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-session-api-key': spec.key };
    const path = `/api/conversations/${conversation}/message`;
    const posted = request({ host: '127.0.0.1', port: spec.port, method: 'POST', path, headers, agent });
    posted.on('error', reject);
    posted.on('response', (reply) => {
      reply.resume().on('end', () => {
        if (reply.statusCode === 200) resolve();
        else reject(new Error(`${path} answered ${reply.statusCode}`));
      });
    });
    posted.end(JSON.stringify({ message }));
  });
}

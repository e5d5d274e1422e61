/**
 * Follows conversations with many clients, by server-sent events or Socket.IO over WebSocket, says something in one
 * conversation after the other, and notes when each client has it. Its input is a {@link WatchSpec}, what it prints a
 * {@link WatchResult}. One process, so that one clock times both ends; plain sockets, so that it costs little itself.
 *
 * It never sleeps. Else each call by which the server writes to a client would first wake the processor that this
 * program sleeps on, and the server would pay for that a thousand times in a round: clients on machines of their own
 * cost it nothing of the kind. How much processor it uses itself says nothing, therefore.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
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
  /** Microseconds of the server's processor for each delivery, what it took to append the events among them. */
  processorTime: number;
}

const PATIENCE_MS = 20_000;
/**
 * Rounds that are not counted, each as soon as all have the one before: the first dozens cost a server a sixth more
 * while V8 compiles what they run through.
 */
const WARM_UP_MS = 1_500;
/** Clients that come at once. */
const AT_ONCE = 50;
const MARK = 'mark-';
const LONGEST_MARK = 20;
/** What a client has read once it follows: the head of the stream, or that it is connected to the namespace. */
const JOINED = { sse: 'HTTP/1.1 200', socketio: '40{"sid"' };
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
const warm = performance.now() + WARM_UP_MS;
while (performance.now() < warm) {
  await sayNext();
  await allHave(sent.length);
}
latencies.length = 0;

const usedBefore = await processorTime(spec.pid);
const begun = performance.now();
const posts: Promise<void>[] = [];
const rounds = spec.perSecond * spec.seconds;
for (let n = 0; n < rounds; n += 1) {
  const due = begun + (n * 1000) / spec.perSecond;
  await until(() => performance.now() >= due);
  posts.push(sayNext());
}
await allHave(rounds);
await Promise.all(posts);
const used = (await processorTime(spec.pid)) - usedBefore;
for (const socket of sockets) socket.destroy();
agent.destroy();

latencies.sort((a, b) => a - b);
const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
const result: WatchResult = {
  deliveries: latencies.length,
  median: at(0.5),
  p95: at(0.95),
  p99: at(0.99),
  processorTime: used / latencies.length,
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
    if (text.includes(JOINED[spec.transport])) joined.resolve(socket);
    else if (text.startsWith('HTTP/') && !text.startsWith('HTTP/1.1 101')) joined.reject(new Error(text));
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

/** Says the next mark, in the conversation whose turn it is. */
function sayNext(): Promise<void> {
  const n = sent.push(performance.now()) - 1;
  return say(spec.conversations[n % spec.conversations.length] ?? '', `${MARK}${n}-`);
}

/** Resolves when all who follow have noted so many of the marks that are counted. */
async function allHave(marks: number): Promise<void> {
  const expected = (marks * spec.clients) / spec.conversations.length;
  const deadline = performance.now() + PATIENCE_MS;
  await until(() => latencies.length >= expected || performance.now() > deadline);
  if (latencies.length !== expected)
    throw new Error(`${latencies.length} of ${expected} events reached a client`);
}

/** Waits awake: a turn of the event loop that has another one to come asks for what there is to read and does not sleep. */
async function until(is: () => boolean): Promise<void> {
  while (!is()) await nextTurn();
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

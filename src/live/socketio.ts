import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Socket as Connection, Server as Engine } from 'engine.io';
import { Server, type Socket } from 'socket.io';
import { LARGE_BODY } from '../contract/conversations.ts';
import { every } from '../every.ts';
import { type LogEnd, eventPacket, feed } from './socket-feed.ts';
import { WAITS_FOR_ITS_TURN } from './status.ts';
import type { Subscriptions } from './subscriptions.ts';

/** Somebody who may follow a conversation, and what it is to them. */
export interface Visitor {
  /** The number of the conversation. */
  conversation: number;
  /** The id of the last event the client has seen; -1 for none. */
  seen: number;
  /** Whether it waits for its turn now. */
  waits: boolean;
  /** Where the log ends as the client comes. */
  end: () => Promise<LogEnd>;
  /** Starts the conversation if it has to be. Gives what is to be told instead, if it can't. */
  join: (end: LogEnd) => Promise<string | null>;
  /** Does what the client asks for. Gives what is to be told when that is refused. */
  act: (payload: unknown) => Promise<string | null>;
  /** Whether who came may still watch. */
  allowed: () => Promise<boolean>;
}

/** Why somebody is not let in: V0's words, which its pages know, and the code of ours. */
export interface Refusal {
  message: string;
  data: { code: string; detail: string; msg_id?: string };
}

export interface SocketTimes {
  /** Milliseconds between two looks whether who watches still may. */
  check: number;
  /** Milliseconds a client may leave its connection full. */
  stalled: number;
  /** Milliseconds until a refused client that stays is cut off, and one that says nothing. */
  silent: number;
  /** Milliseconds between two heartbeats. */
  ping: number;
  /** Milliseconds a client has to answer one. */
  pong: number;
}

const TIMES: SocketTimes = { check: 10_000, stalled: 30_000, silent: 10_000, ping: 25_000, pong: 20_000 };

/** What one client may have asked for and not been answered yet. */
const MAX_ASKED = 20;

/** Milliseconds a client has to answer that its connection is closed. */
const LAST_WORDS_MS = 1_000;

const TRANSPORTS = { transports: ['polling', 'websocket'] as ('polling' | 'websocket')[] };
const REFUSED = 'refused-';
/** Bytes that somebody who may not enter can make us read. */
const REFUSED_BODY = 1_024;

export interface LiveSocketsOptions {
  subscriptions: Subscriptions;
  onError: (error: unknown) => void;
  times?: Partial<SocketTimes>;
}

/**
 * Conversations over Socket.IO (protocol 5 over Engine.IO 4), as V0 spoke it. Whoever hands connections in has
 * checked who they are. Those who may not enter are told so by an engine of its own, whose payloads are small.
 */
export class LiveSockets {
  readonly #options: LiveSocketsOptions & { times: SocketTimes };
  readonly #engine: Engine;
  readonly #refusing: Engine;
  readonly #io: Server;
  readonly #visitors = new WeakMap<IncomingMessage, Visitor>();
  readonly #refusals = new WeakMap<IncomingMessage, Refusal>();
  readonly #serving = new Map<IncomingMessage, { connection: Connection; visitor: Visitor }>();
  /** What once were HTTP connections, and are not ended with those. */
  readonly #upgraded = new Set<Duplex>();
  readonly #ended = new AbortController();

  constructor(options: LiveSocketsOptions) {
    this.#options = { ...options, times: { ...TIMES, ...options.times } };
    const { check, silent, ping: pingInterval, pong: pingTimeout } = this.#options.times;
    const common = { ...TRANSPORTS, pingInterval, pingTimeout, httpCompression: false };
    this.#engine = new Engine({ ...common, maxHttpBufferSize: LARGE_BODY });
    this.#refusing = new Engine({ ...common, maxHttpBufferSize: REFUSED_BODY });
    for (const engine of [this.#engine, this.#refusing]) engine.on('connection', closeSoon);
    this.#io = new Server({ serveClient: false, connectTimeout: silent });
    this.#io.bind(this.#engine);
    this.#io.on('connection', (socket) => void this.#serve(socket).catch(this.#options.onError));
    this.#refusing.generateId = () => REFUSED + randomBytes(15).toString('base64url');
    this.#refusing.on('connection', (connection: Connection) => this.#refuse(connection));
    every(check, () => this.#dropWhoMayNot(), { signal: this.#ended.signal, failed: options.onError });
  }

  /** A request of long polling: the first of a client, with who it is, or a later one. */
  request(request: IncomingMessage, response: ServerResponse, who: Visitor | Refusal | null): void {
    if (this.#ended.signal.aborted) return void response.destroy();
    this.#engineFor(request, who).handleRequest(request, response);
  }

  /** A request to become a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, who: Visitor | Refusal | null): void {
    if (this.#ended.signal.aborted) return void socket.destroy();
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    this.#engineFor(request, who).handleUpgrade(request, socket, head);
  }

  /** Cuts all connections, so that their clients come back when there is somebody to come back to. */
  close(): void {
    this.#ended.abort();
    this.#engine.close();
    this.#refusing.close();
    const rest = setTimeout(() => this.#upgraded.forEach((socket) => socket.destroy()), LAST_WORDS_MS);
    rest.unref();
  }

  #engineFor(request: IncomingMessage, who: Visitor | Refusal | null): Engine {
    if (who === null) return sidOf(request)?.startsWith(REFUSED) ? this.#refusing : this.#engine;
    if ('message' in who) {
      this.#refusals.set(request, who);
      return this.#refusing;
    }
    this.#visitors.set(request, who);
    return this.#engine;
  }

  async #serve(socket: Socket): Promise<void> {
    const { conn: connection, request } = socket;
    const visitor = this.#visitors.get(request);
    // One connection has one conversation, once.
    if (!visitor || this.#serving.has(request)) return void socket.disconnect(true);
    this.#serving.set(request, { connection, visitor });
    socket.once('disconnect', () => this.#serving.delete(request));
    this.#listen(socket, visitor);

    const end = await visitor.end();
    // An id that is not in the log is of a log that was here before: nothing of this one was seen.
    const from = visitor.seen > end.newest ? 0 : visitor.seen + 1;
    const subscription = this.#options.subscriptions.subscribe(visitor.conversation, from);
    socket.once('disconnect', () => subscription.close());
    if (!socket.connected) return subscription.close();
    if (visitor.waits) subscription.offer({ statuses: [WAITS_FOR_ITS_TURN], events: [] });
    const refused = visitor.join(end).then((why) => why !== null && tell(connection, why));
    refused.catch(this.#options.onError);
    try {
      const isTaken = await feed({ connection, subscription, ...end, stalled: this.#options.times.stalled });
      if (isTaken) connection.close();
      else cut(connection);
    } catch (error) {
      cut(connection);
      throw error;
    } finally {
      subscription.close();
    }
  }

  /** One after the other, in the order in which the client asked. */
  #listen(socket: Socket, visitor: Visitor): void {
    let asked = 0;
    let last: Promise<void> = Promise.resolve();
    const act = async (payload: unknown, ack: unknown): Promise<void> => {
      const why = await visitor.act(payload);
      asked -= 1;
      if (why !== null) tell(socket.conn, why);
      if (typeof ack === 'function') ack();
    };
    const take = (payload: unknown, ack: unknown): void => {
      if (asked >= MAX_ASKED) return tell(socket.conn, 'Too much at once: this was not done. Send it again.');
      asked += 1;
      last = last.then(() => act(payload, ack)).catch(this.#options.onError);
    };
    socket.on('oh_user_action', take);
    socket.on('oh_action', take);
  }

  #refuse(connection: Connection): void {
    const refusal = this.#refusals.get(connection.request);
    const late = setTimeout(() => cut(connection), this.#options.times.silent);
    connection.once('close', () => clearTimeout(late));
    connection.on('message', (data: unknown) => {
      // CONNECT, answered by CONNECT_ERROR: clients do not try again after that.
      if (typeof data === 'string' && data.startsWith('0')) connection.write(`4${JSON.stringify(refusal)}`);
    });
  }

  async #dropWhoMayNot(): Promise<void> {
    for (const { connection, visitor } of this.#serving.values()) {
      if (!(await visitor.allowed())) cut(connection);
    }
  }
}

/** Long polling, when it is closed, waits half a minute for a request to answer that to: a stop would wait with it. */
function closeSoon({ transport }: Connection): void {
  if ('closeTimeout' in transport) transport.closeTimeout = LAST_WORDS_MS;
}

function tell(connection: Connection, message: string): void {
  connection.write(eventPacket(JSON.stringify({ error: true, message })));
}

/** At once, whatever waits to be written: it would wait as long as the client likes. */
function cut(connection: Connection): void {
  connection.close(true);
}

function sidOf(request: IncomingMessage): string | null {
  return new URL(request.url ?? '', 'http://here').searchParams.get('sid');
}

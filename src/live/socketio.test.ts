import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { io, type Socket } from 'socket.io-client';
import { MemoryConversation } from '../../test/support/memory-conversation.ts';
import { action, agentMessage, observation, stateChanged, userMessage } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { endOfLog } from './socket-feed.ts';
import { LiveSockets, type SocketTimes, type Visitor } from './socketio.ts';
import { fc } from '../../test/support/samples.ts';

/** A client that is cut while it shakes hands keeps a timer as long as both together. */
const TIMES: Partial<SocketTimes> = { check: 60_000, stalled: 60_000, ping: 1_000, pong: 5_000 };

/** Conversation `one` in memory, served to anybody. */
async function serving(t: TestContext, times: Partial<SocketTimes> = {}) {
  const conversation = new MemoryConversation();
  const failures: unknown[] = [];
  const sockets = new LiveSockets({
    subscriptions: conversation.subscriptions,
    onError: (error) => failures.push(error),
    times: { ...TIMES, ...times },
  });
  let allowed = true;
  const visitor = (url: URL): Visitor => {
    const seen = Number(url.searchParams.get('latest_event_id') ?? -1);
    return {
      conversation: 1,
      seen,
      waits: url.searchParams.has('waits'),
      end: () =>
        endOfLog(({ to = 1e9, limit }) => {
          const page = conversation.stored.filter(({ id }) => id <= to).toReversed();
          return Promise.resolve(page.slice(0, limit));
        }, seen),
      join: () => Promise.resolve(null),
      act: () => Promise.resolve(null),
      allowed: () => Promise.resolve(allowed),
    };
  };
  const who = ({ url = '' }: IncomingMessage): Visitor | null => {
    const parsed = new URL(url, 'http://here');
    return parsed.searchParams.has('sid') ? null : visitor(parsed);
  };
  const open = new Set<Duplex>();
  const server = createServer((request, response) => sockets.request(request, response, who(request)));
  server.on('upgrade', (request, socket, head) => sockets.upgrade(request, socket, head, who(request)));
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(async () => {
    sockets.close();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    assert.deepEqual(failures, []);
  });
  return {
    conversation,
    sockets,
    port,
    open,
    forbid: () => (allowed = false),
    cutAll: () => open.forEach((socket) => socket.destroy()),
    come: (seen: number, transports: string[] = ['websocket']): Socket =>
      io(`http://127.0.0.1:${port}`, {
        transports,
        forceNew: true,
        reconnection: false,
        query: { conversation_id: 'one', latest_event_id: seen },
      }),
  };
}

function happens(socket: Socket, what: 'connect' | 'disconnect'): Promise<void> {
  return new Promise((resolve) => socket.once(what, () => resolve()));
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await new Promise((resolve) => setTimeout(resolve, 2));
}

const asked = action('environment', 'change_agent_state', '', { agent_state: 'running', thought: '' });
const EVENTS: Record<string, NewEvent> = {
  said: agentMessage('said'),
  asked: userMessage('asked'),
  state: stateChanged('running'),
  hidden: asked,
  nothing: observation('environment', 'null', '', {}),
  recall: action('user', 'recall', '', { recall_type: 'knowledge', query: '', thought: '' }),
  large: agentMessage('x'.repeat(50_000)),
};

interface Received {
  id: number;
  source: string;
  observation?: string;
}

/** A page that remembers the last event it received and comes back with its id. */
class Page {
  readonly received: Received[] = [];
  last = -1;
  #socket: Socket | undefined;
  readonly #come: (seen: number, transports: string[]) => Socket;

  constructor(come: (seen: number, transports: string[]) => Socket) {
    this.#come = come;
  }

  get here(): boolean {
    return this.#socket?.active ?? false;
  }

  /** Goes away by itself right after so many events, in the middle of whatever comes. */
  come(transports: string[], until = Number.POSITIVE_INFINITY): void {
    this.go();
    const socket = this.#come(this.last, transports);
    let left = until;
    socket.on('oh_event', (event: Received) => {
      if (left <= 0) return;
      this.received.push(event);
      this.last = event.id;
      left -= 1;
      if (left === 0) socket.io.engine.close();
    });
    this.#socket = socket;
  }

  go(): void {
    this.#socket?.disconnect();
  }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      what: fc.array(fc.constantFrom(...Object.keys(EVENTS)), { minLength: 1, maxLength: 30 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('come' as const),
      polls: fc.boolean(),
      stays: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(Infinity)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), turns: fc.integer({ min: 1, max: 60 }) }),
  },
);

test('whenever a connection is cut, its page gets every event once, in order, and the newest state', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      const { conversation, come, cutAll } = await serving(t);
      const page = new Page(come);
      for (const one of steps) {
        if (one.do === 'append') conversation.append(...one.what.flatMap((name) => EVENTS[name] ?? []));
        else if (one.do === 'come')
          page.come(one.polls ? ['polling', 'websocket'] : ['websocket'], one.stays);
        else if (one.do === 'cut') cutAll();
        else for (let n = 0; n < one.turns; n += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      page.come(['websocket']);
      conversation.append(agentMessage('the end'));
      await until(() => page.last === conversation.stored.length - 1);
      page.go();

      const ids = page.received.map(({ id }) => id);
      assert.deepEqual(
        ids,
        [...new Set(ids)].toSorted((a, b) => a - b),
        'in order, none twice',
      );
      const log = conversation.stored.map(({ json }) => JSON.parse(json));
      // What V0's rules send both while it happens and later.
      const owed = log.filter(({ action: name, source }) => name === 'message' && source !== 'environment');
      const got = new Set(ids);
      assert.deepEqual(
        owed.filter(({ id }) => !got.has(id)),
        [],
        'none lost',
      );
      const states = log.filter((event) => event.observation === 'agent_state_changed');
      const newest = page.received.findLast((event) => event.observation === 'agent_state_changed');
      assert.equal(newest?.id, states.at(-1)?.id, 'the state is the newest');
    }),
    { numRuns: 60 },
  );
});

test('a client that takes nothing is dropped, and costs no more than one piece of the log', async (t) => {
  const { conversation, port } = await serving(t, { stalled: 50 });
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {});
  raw.write(
    `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost:${port}\r\nUpgrade: websocket\r\n` +
      'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n',
  );
  await once(raw, 'data');
  raw.pause();
  // "40", masked with zeros.
  raw.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30]));
  await until(() => conversation.subscriptions.watchers(1) === 1);
  for (let n = 0; n < 400 && conversation.subscriptions.watchers(1) === 1; n += 1) {
    conversation.append(agentMessage('x'.repeat(100_000)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => conversation.subscriptions.watchers(1) === 0);
  raw.destroy();
});

test('who may no longer watch loses the connection; who goes leaves nothing behind', async (t) => {
  const { conversation, come, forbid } = await serving(t, { check: 5 });
  const gone = come(-1);
  await happens(gone, 'connect');
  await until(() => conversation.subscriptions.watchers(1) === 1);
  gone.disconnect();
  await until(() => conversation.subscriptions.watchers(1) === 0);
  const watcher = come(-1);
  await happens(watcher, 'connect');
  forbid();
  await happens(watcher, 'disconnect');
  await until(() => conversation.subscriptions.watchers(1) === 0);
});

test('connections that come and are cut leave no watcher and no descriptor', async (t) => {
  const { conversation, come, cutAll, open } = await serving(t, { silent: 100, ping: 100, pong: 100 });
  conversation.append(userMessage('a'), agentMessage('x'.repeat(10_000)));
  for (let n = 0; n < 200; n += 1) {
    const socket = come(-1, n % 2 === 0 ? ['websocket'] : ['polling', 'websocket']);
    // Before the handshake, in the middle of it, after it: each is cut at another moment.
    for (let turns = 0; turns < n % 40; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    if (n % 3 === 0) cutAll();
    socket.disconnect();
  }
  await until(() => conversation.subscriptions.watchers(1) === 0 && open.size === 0);
});

test('a latest_event_id that the log does not have is of another log: everything is sent', async (t) => {
  const { conversation, come } = await serving(t);
  conversation.append(userMessage('a'), agentMessage('b'));
  const page = new Page((_, transports) => come(500, transports));
  page.come(['websocket']);
  await until(() => page.last === 1);
  assert.deepEqual(
    page.received.map(({ id }) => id),
    [0, 1],
  );
  page.go();
});

test('statuses come as they are, and every client of a conversation has its own place', async (t) => {
  const { conversation, come } = await serving(t);
  conversation.append(userMessage('a'));
  const pages = [new Page(come), new Page(come), new Page(come)];
  for (const page of pages) page.come(['websocket']);
  await until(() => pages.every(({ last }) => last === 0));
  const status = { status_update: true, type: 'info', id: 'STATUS$READY', message: '' } as const;
  conversation.subscriptions.notify(1, status);
  conversation.append(agentMessage('b'));
  await until(() => pages.every(({ received }) => received.length === 3));
  for (const { received } of pages)
    assert.ok(received.some((one) => JSON.stringify(one) === JSON.stringify(status)));
  for (const page of pages) page.go();
});

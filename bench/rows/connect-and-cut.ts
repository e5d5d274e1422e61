import { get } from 'node:http';
import { io } from 'socket.io-client';
import { Inspector, startInspected } from '../../test/support/inspector.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import { isNothing, leftBehind, more, objectsTold } from '../support/left.ts';
import { type Waiting, waitingConversations } from '../support/waiting.ts';

const CYCLES = 1_000;
const AT_ONCE = 50;
/** In which code is compiled and pools are filled, before those that count. */
const WARM_ROUNDS = 2;
const ROUNDS = 4;
/** Less than the smallest object that could be left for each, and more than pools grow by. */
const GOAL_BYTES = 50;

/** Comes, is answered, and goes; `path` is of a conversation. */
type Come = (waiting: Waiting, id: string) => Promise<void>;

const CLIENTS: Record<string, Come> = {
  'Socket.IO clients that connect and are cut': (waiting, id) => bySocket(waiting, id, 'websocket'),
  'Socket.IO clients that poll and go': (waiting, id) => bySocket(waiting, id, 'polling'),
  'event streams that are opened and cut': (waiting, id) => byHttp(waiting, `${id}/events/stream`, 'cut'),
  'connections for one request': (waiting, id) => byHttp(waiting, id, 'read'),
};

/** Clients that come, are let in, and go, most without a word: what each leaves in the server. */
export const connectAndCut: Subject = {
  seconds: 900,
  measure: async (share) => {
    await using waiting = await waitingConversations(10, startInspected);
    using inspector = await Inspector.of(waiting.app);
    const rows: Row[] = [];
    for (const [who, come] of Object.entries(CLIENTS)) {
      rows.push(await rowOf(who, come, { waiting, inspector, share }));
    }
    return rows;
  },
};

async function rowOf(
  who: string,
  come: Come,
  { waiting, inspector, share }: { waiting: Waiting; inspector: Inspector; share: Share },
): Promise<Row> {
  const { app } = waiting;
  const cycles = CYCLES * share;
  for (let n = 0; n < WARM_ROUNDS; n += 1) await round(waiting, come, cycles);
  const before = await leftBehind(app, inspector);
  for (let n = 0; n < ROUNDS; n += 1) await round(waiting, come, cycles);
  const after = await leftBehind(app, inspector, before);
  const left = more(before, after, ROUNDS * cycles);
  const each = left.bytes / (ROUNDS * cycles);
  return {
    what: `${ROUNDS} rounds of ${cycles} ${who}`,
    measured: `${each.toFixed(1)} bytes each, ${left.timers} timers, ${left.descriptors} descriptors, ${objectsTold(left)} left behind`,
    ...heldTo(
      share,
      `< ${GOAL_BYTES} bytes each, no object, timer or descriptor`,
      each < GOAL_BYTES && isNothing(left),
    ),
    runs: { before, after },
  };
}

async function round(waiting: Waiting, come: Come, cycles: number): Promise<void> {
  for (let n = 0; n < cycles; n += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, cycles - n) }, (_, m) => waiting.ids[m % 10] ?? '');
    await Promise.all(ids.map((id) => come(waiting, id)));
  }
}

async function bySocket({ app }: Waiting, id: string, transport: 'websocket' | 'polling'): Promise<void> {
  const query = { conversation_id: id, latest_event_id: '-1', session_api_key: app.key };
  const client = io(app.url, { transports: [transport], forceNew: true, reconnection: false, query });
  await new Promise((resolve, reject) => {
    client.once('oh_event', resolve);
    client.once('connect_error', reject);
  });
  const gone = new Promise((resolve) => client.once('disconnect', resolve));
  if (transport === 'polling') {
    client.disconnect();
  } else {
    // Without the word that it goes.
    const { ws } = client.io.engine.transport as unknown as { ws: { terminate: () => void } };
    ws.terminate();
  }
  await gone;
}

async function byHttp({ app }: Waiting, path: string, way: 'cut' | 'read'): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // A connection of its own, which is not kept for others.
    const options = { agent: false, headers: { 'X-Session-API-Key': app.key } };
    const request = get(`${app.url}/api/conversations/${path}`, options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path} answered ${response.statusCode}`));
      response.on('data', () => way === 'cut' && response.destroy());
      response.on('error', () => {});
      response.on('close', resolve);
    });
    request.on('error', reject);
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { heldTo, type Subject } from '../row.ts';
import { type Held, Inspector, startInspected } from '../support/inspector.ts';
import { descriptors } from '../support/processes.ts';
import { type Waiting, waitingConversations } from '../support/waiting.ts';

const CYCLES = 1_000;
const WARM_UP = 200;
const AT_ONCE = 50;
const PATIENCE_MS = 60_000;
/** What a heap differs by from one look to the next. */
const NOISE_BYTES = 512 * 1024;

interface Left extends Held {
  descriptors: number;
}

/** Socket.IO clients that come, are let in, and vanish without a word: what they leave in the server. */
export const connectAndCut: Subject = {
  seconds: 180,
  measure: async (share) => {
    const cycles = CYCLES * share;
    await using waiting = await waitingConversations(10, startInspected);
    using inspector = await Inspector.of(waiting.app);
    await cut(waiting, WARM_UP);
    const before = await atRest(waiting, inspector, null);
    await cut(waiting, cycles);
    const after = await atRest(waiting, inspector, before);
    const bytes = after.bytes - before.bytes;
    const [timers, files] = [timersOf(after) - timersOf(before), after.descriptors - before.descriptors];
    return [
      {
        what: `${cycles} Socket.IO clients that connect and are cut`,
        measured: `${(bytes / 1024).toFixed(0)} KiB, ${timers} timers, ${files} descriptors left behind`,
        ...heldTo(share, 'no memory, timer or descriptor', bytes < NOISE_BYTES && timers <= 0 && files <= 0),
        runs: { before, after },
      },
    ];
  },
};

async function cut({ app, ids }: Waiting, cycles: number): Promise<void> {
  for (let n = 0; n < cycles; n += AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, cycles - n) }, async (_, m) => {
        const query = {
          conversation_id: ids[m % ids.length],
          latest_event_id: '-1',
          session_api_key: app.key,
        };
        const client = io(app.url, { transports: ['websocket'], forceNew: true, reconnection: false, query });
        await new Promise((resolve, reject) => {
          client.once('oh_event', resolve);
          client.once('connect_error', reject);
        });
        const gone = new Promise((resolve) => client.once('disconnect', resolve));
        // Without the word that it goes.
        const { ws } = client.io.engine.transport as unknown as { ws: { terminate: () => void } };
        ws.terminate();
        await gone;
      }),
    );
  }
}

/** As soon as it holds no more than before; what it holds at last, when it does not come to that. */
async function atRest({ app }: Waiting, inspector: Inspector, before: Left | null): Promise<Left> {
  const deadline = performance.now() + PATIENCE_MS;
  let last: Left | undefined;
  for (;;) {
    const now = { ...(await inspector.held()), descriptors: await descriptors(app.pid) };
    const isSettled = before
      ? now.descriptors <= before.descriptors &&
        timersOf(now) <= timersOf(before) &&
        now.bytes - before.bytes < NOISE_BYTES
      : last !== undefined && now.descriptors === last.descriptors && timersOf(now) === timersOf(last);
    if (isSettled || performance.now() > deadline) return now;
    last = now;
    await sleep(1_000);
  }
}

function timersOf({ resources }: Held): number {
  return resources['Timeout'] ?? 0;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import type { Parley } from '../../test/support/parley.ts';
import { heldTo, type Subject } from '../row.ts';
import { type Held, Inspector, startInspected } from '../support/inspector.ts';
import { startModel, useModel } from '../support/model.ts';
import type { Neighbour } from '../support/neighbour.ts';
import { descendants, descriptors } from '../support/processes.ts';

const USERS_AT_ONCE = 8;
const WARM_UP_SECONDS = 6;
const PATIENCE_MS = 60_000;
/** What a heap differs by from one look to the next, and what the code compiled meanwhile takes. */
const NOISE_BYTES = 4 * 2 ** 20;

interface Left extends Held {
  descriptors: number;
  processes: number;
}

/**
 * All that users do, over and over: settings stored, conversations created, driven with commands, followed by both
 * kinds of streams, stopped, removed. Then nobody: what is there that was not there before.
 */
export const loadThenRest: Subject = {
  seconds: 150,
  isLoadedForMinutes: true,
  measure: async (share, minutes) => {
    await using model = await startModel({ steps: 3, tool: 'execute_bash', delay: 20 });
    await using app = await startInspected({ PARLEY_RATE_LIMIT: '0', PARLEY_MAX_RUNNING: '50,50' });
    using inspector = await Inspector.of(app);
    await load(app, model, WARM_UP_SECONDS);
    const before = await atRest(app, inspector, null);
    const rounds = await load(app, model, minutes * share * 60);
    const after = await atRest(app, inspector, before);
    const bytes = after.bytes - before.bytes;
    const [timers, files] = [timersOf(after) - timersOf(before), after.descriptors - before.descriptors];
    const processes = after.processes - before.processes;
    const isBack = bytes < NOISE_BYTES && timers <= 0 && files <= 0 && processes <= 0;
    return [
      {
        what: `${minutes * share} min of load (${rounds} conversations from creation to removal), then rest`,
        measured: `${(bytes / 1024).toFixed(0)} KiB of heap, ${timers} timers, ${files} descriptors, ${processes} processes more than before`,
        ...heldTo(share, 'all back to where it was', isBack),
        runs: { before, after, rounds },
      },
    ];
  },
};

/** Gives how many conversations came and went. */
async function load(app: Parley, model: Neighbour, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  let rounds = 0;
  const user = async (): Promise<void> => {
    while (performance.now() < until) {
      rounds += 1;
      await oneLife(app, model, `c${Date.now()}-${rounds}`);
    }
  };
  await Promise.all(Array.from({ length: USERS_AT_ONCE }, user));
  return rounds;
}

async function oneLife(app: Parley, model: Neighbour, id: string): Promise<void> {
  await useModel(app, model);
  await app.ok('POST', '/api/conversations', {
    conversation_id: id,
    initial_user_msg: `bench-${id.replace('-', '')}`,
  });
  const streamEnds = new AbortController();
  const query = { conversation_id: id, latest_event_id: '-1', session_api_key: app.key };
  const socket = io(app.url, { transports: ['websocket'], forceNew: true, reconnection: false, query });
  const stream = await fetch(`${app.url}/api/conversations/${id}/events/stream`, {
    headers: { 'X-Session-API-Key': app.key },
    signal: streamEnds.signal,
  });
  const read = stream.text().catch(() => '');
  const { error } = await app.until(id, ({ agent_state }) =>
    ['awaiting_user_input', 'finished', 'error'].includes(agent_state),
  );
  if (error) throw new Error(error.message);
  streamEnds.abort();
  await read;
  socket.disconnect();
  await app.ok('POST', `/api/conversations/${id}/stop`);
  await app.ok('DELETE', `/api/conversations/${id}`);
}

/** As soon as there is no more than before; what there is at last, when it does not come to that. */
async function atRest(app: Parley, inspector: Inspector, before: Left | null): Promise<Left> {
  const deadline = performance.now() + PATIENCE_MS;
  let last: Left | undefined;
  for (;;) {
    await sleep(2_000);
    const now: Left = {
      ...(await inspector.held()),
      descriptors: await descriptors(app.pid),
      processes: (await descendants(app.pid)).length,
    };
    const isSettled = before ? isNoMore(now, before) : last !== undefined && isNoMore(last, now);
    if (isSettled || performance.now() > deadline) return now;
    last = now;
  }
}

function isNoMore(now: Left, before: Left): boolean {
  return (
    now.descriptors <= before.descriptors &&
    now.processes <= before.processes &&
    timersOf(now) <= timersOf(before) &&
    now.bytes - before.bytes < NOISE_BYTES
  );
}

function timersOf({ resources }: Held): number {
  return resources['Timeout'] ?? 0;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import type { Parley } from '../../test/support/parley.ts';
import { heldTo, type Subject } from '../row.ts';
import { Inspector, startInspected } from '../../test/support/inspector.ts';
import { isNothing, leftBehind, more, objectsTold } from '../support/left.ts';
import { startModel, useModel } from '../support/model.ts';
import type { Neighbour } from '../support/neighbour.ts';

const USERS_AT_ONCE = 8;
/** In which pools are filled and modules loaded: conversations from creation to removal, before those that count. */
const WARM_UP = 50;
/** Longer than the connections of clients who have gone quiet are kept open. */
const REST_MS = 75_000;
/** What pools differ by from one rest to the next. */
const NOISE_BYTES = 64 * 1024;

/**
 * All that users do, over and over: settings stored, conversations created, driven with commands, followed by both
 * kinds of streams, stopped, removed. Then nobody: what is there that was not there before.
 */
export const loadThenRest: Subject = {
  seconds: 900,
  isLoadedForMinutes: true,
  measure: async (share, minutes) => {
    await using model = await startModel({ steps: 3, tool: 'execute_bash', delay: 20 });
    await using app = await startInspected({ PARLEY_RATE_LIMIT: '0', PARLEY_MAX_RUNNING: '50,50' });
    using inspector = await Inspector.of(app);
    await load(app, model, (lives) => lives < WARM_UP * share);
    await sleep(REST_MS);
    const before = await leftBehind(app, inspector);
    const until = performance.now() + minutes * share * 60_000;
    const lives = await load(app, model, () => performance.now() < until);
    await sleep(REST_MS);
    const after = await leftBehind(app, inspector, before);
    const left = more(before, after, lives);
    return [
      {
        what: `${minutes * share} min of load (${lives} conversations from creation to removal), then rest`,
        measured: `${(left.bytes / 1024).toFixed(0)} KiB of objects, ${left.timers} timers, ${left.descriptors} descriptors, ${left.processes} processes, ${objectsTold(left)} more than before`,
        ...heldTo(share, 'all back to where it was', left.bytes < NOISE_BYTES && isNothing(left)),
        runs: { before, after, lives },
      },
    ];
  },
};

/** Gives how many conversations came and went. */
async function load(app: Parley, model: Neighbour, goesOn: (lives: number) => boolean): Promise<number> {
  let lives = 0;
  const user = async (): Promise<void> => {
    while (goesOn(lives)) {
      lives += 1;
      await oneLife(app, model, `c${Date.now()}-${lives}`);
    }
  };
  await Promise.all(Array.from({ length: USERS_AT_ONCE }, user));
  return lives;
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

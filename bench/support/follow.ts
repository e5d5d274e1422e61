import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startParley, TEST_KEY } from '../../test/support/parley.ts';
import type { WatchResult, WatchSpec } from '../programs/watch.ts';
import { heldTo, type Row, type Share } from '../row.ts';
import { runProgram, ServerProgram } from './program.ts';
import { waitingConversations } from './waiting.ts';

/** How many watch how many conversations, in which so much is said. */
export type Following = Pick<WatchSpec, 'transport' | 'clients' | 'perSecond'> & { conversations: number };

const SECONDS = 4;
/** Of so few, the worst two or three are above the p95: one that something else on the machine disturbed is not it. */
const LEAST_ROUNDS = 50;
const NAMES = { sse: 'SSE', socketio: 'Socket.IO' };

/** From a message until all who follow its conversation have it, beside a bare server that is followed alike. */
export async function followRow(following: Following, share: Share, goalMs: number): Promise<Row> {
  const { transport, clients, conversations, perSecond } = following;
  const ours = await ourFollowing(following);
  const limit = await bareFollowing(following);
  const shown = ({ p95, median, processorTime }: WatchResult) =>
    `p95 ${p95.toFixed(1)} ms, median ${median.toFixed(1)} ms, ${processorTime.toFixed(0)} µs of processor each`;
  return {
    what: `event append → ${NAMES[transport]} client, ${clients} clients on ${conversations} conversations, ${perSecond} events/s`,
    measured: shown(ours),
    limit: shown(limit),
    ...heldTo(share, `p95 < ${goalMs} ms`, ours.p95 < goalMs),
    runs: { ours, limit },
  };
}

async function ourFollowing({ conversations, ...following }: Following): Promise<WatchResult> {
  await using waiting = await waitingConversations(conversations, startParley);
  return await watch({ ...following, port: waiting.port, pid: waiting.app.pid, conversations: waiting.ids });
}

async function bareFollowing({ conversations, ...following }: Following): Promise<WatchResult> {
  const folder = await mkdtemp(join(tmpdir(), 'live-'));
  await using limit = await ServerProgram.start(['bench/limits/live.ts', '--data', folder]);
  const ids = Array.from({ length: conversations }, (_, n) => `c${n}`);
  return await watch({ ...following, port: limit.port, pid: limit.pid, conversations: ids });
}

function watch(spec: Omit<WatchSpec, 'key' | 'seconds'>): Promise<WatchResult> {
  const seconds = Math.max(SECONDS, LEAST_ROUNDS / spec.perSecond);
  const whole: WatchSpec = { ...spec, key: TEST_KEY, seconds };
  return runProgram('bench/programs/watch.ts', whole);
}

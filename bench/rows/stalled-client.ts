import { connect, type Socket } from 'node:net';
import { TEST_KEY } from '../../test/support/parley.ts';
import type { WatchResult, WatchSpec } from '../programs/watch.ts';
import { heldTo, type Subject } from '../row.ts';
import { Inspector, startInspected } from '../../test/support/inspector.ts';
import { runProgram } from '../support/program.ts';
import { type Waiting, waitingConversations } from '../support/waiting.ts';

const STALLED = 100;
const MESSAGES = 100;
const MESSAGE_BYTES = 100_000;
const GOAL_BYTES = 2 ** 20;

/** Clients that come and never read: what each holds of the server, and what one who reads notices of them. */
export const stalledClient: Subject = {
  seconds: 120,
  measure: async (share) => {
    const [alone, beside] = [await run(0), await run(STALLED * share)];
    const bytes = (beside.bytes - alone.bytes) / (STALLED * share);
    const [before, with_] = [alone.reader.p95, beside.reader.p95];
    return [
      {
        what: `a stalled SSE client, of ${STALLED * share} that leave ${(MESSAGES * MESSAGE_BYTES) / 1e6} MB unread`,
        measured: `${(bytes / 1024).toFixed(0)} KiB each; one who reads: p95 ${with_.toFixed(1)} ms`,
        limit: `one who reads, without them: p95 ${before.toFixed(1)} ms`,
        ...heldTo(
          share,
          '< 1 MiB, nobody else anything',
          bytes < GOAL_BYTES && with_ < Math.max(20, 2 * before),
        ),
        runs: { alone, beside },
      },
    ];
  },
};

async function run(stalled: number): Promise<{ bytes: number; reader: WatchResult }> {
  await using waiting = await waitingConversations(2, startInspected);
  using inspector = await Inspector.of(waiting.app);
  const before = (await inspector.held()).bytes;
  const sockets = await Promise.all(Array.from({ length: stalled }, () => stall(waiting)));
  for (let n = 0; n < MESSAGES; n += 1) {
    await waiting.app.ok('POST', '/api/conversations/c0/message', { message: 'x'.repeat(MESSAGE_BYTES) });
  }
  const bytes = (await inspector.held()).bytes - before;
  const spec: WatchSpec = {
    port: waiting.port,
    pid: waiting.app.pid,
    key: TEST_KEY,
    transport: 'sse',
    conversations: ['c1'],
    clients: 1,
    perSecond: 50,
    seconds: 3,
  };
  const reader = await runProgram<WatchResult>('bench/programs/watch.ts', spec);
  for (const socket of sockets) socket.destroy();
  return { bytes, reader };
}

/** Asks for the stream, and leaves it with what the kernel holds. */
function stall({ port, ids: [id] }: Waiting): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('error', reject);
    socket.write(
      `GET /api/conversations/${id}/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-API-Key: ${TEST_KEY}\r\n\r\n`,
    );
    socket.once('readable', () => resolve(socket));
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Parley } from '../../test/support/parley.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import { Inspector, startInspected } from '../../test/support/inspector.ts';
import { gapsOf, startModel, useModel } from '../support/model.ts';
import { descendants, proportionalBytes, residentBytes } from '../support/processes.ts';
import { seededData } from '../support/seed.ts';
import { startServed } from '../support/served.ts';
import { median } from '../support/statistics.ts';

const IDLE = 10_000;
const DRIVEN = 100;
const SERVER_BYTES = 120e6;
const IDLE_BYTES = 2 * 1024;
const DRIVEN_BYTES = 2 ** 20;
const PATIENCE_MS = 60_000;

/** What the service holds: alone, for conversations that rest, for those that are driven, and for their sandboxes. */
export const memory: Subject = {
  seconds: 180,
  measure: async (share) => [
    await idleServer(share),
    await idleConversations(IDLE * share, share),
    ...(await drivenConversations(DRIVEN * share, share)),
  ],
};

async function idleServer(share: Share): Promise<Row> {
  const runs: number[] = [];
  await (await startServed()).close();
  for (let n = 0; n < 3; n += 1) {
    await using app = await startServed();
    await sleep(3_000);
    runs.push(await residentBytes(app.pid));
  }
  const bytes = median(runs);
  return {
    what: 'memory of an idle server',
    measured: `${megabytes(bytes)} MB`,
    ...heldTo(share, `< ${megabytes(SERVER_BYTES)} MB`, bytes < SERVER_BYTES),
    runs,
  };
}

async function idleConversations(count: number, share: Share): Promise<Row> {
  const [none, all] = [
    await heldBehind({ PARLEY_SANDBOX: 'none' }),
    await heldBehind({
      PARLEY_SANDBOX: 'none',
      PARLEY_DATA_DIR: await seededData({ conversations: count, events: 5 }),
    }),
  ];
  const each = (all - none) / count;
  return {
    what: `memory for each idle conversation, of ${count}`,
    measured: `${(Math.max(0, each) / 1024).toFixed(2)} KiB`,
    ...heldTo(share, `< ${IDLE_BYTES / 1024} KiB`, each < IDLE_BYTES),
    runs: { none, all },
  };
}

/** Bytes held once it has looked at all there is. */
async function heldBehind(env: Record<string, string>): Promise<number> {
  await using app = await startInspected(env);
  using inspector = await Inspector.of(app);
  await app.ok('GET', '/api/conversations?limit=100');
  return (await inspector.held()).bytes;
}

/** Each has run a command and waits for its model. */
async function drivenConversations(count: number, share: Share): Promise<Row[]> {
  await using model = await startModel({ steps: 2, tool: 'execute_bash', delay: 0, silentFrom: 1 });
  await using app = await startInspected({ PARLEY_MAX_RUNNING: '1000,1000', PARLEY_RATE_LIMIT: '0' });
  await useModel(app, model);
  using inspector = await Inspector.of(app);
  await drive(app, ['warm']);
  await untilAsked(() => gapsOf(model).then(({ length }) => length), 1);
  const before = { held: (await inspector.held()).bytes, resident: await residentBytes(app.pid) };
  await drive(
    app,
    Array.from({ length: count }, (_, n) => `c${n}`),
  );
  await untilAsked(() => gapsOf(model).then(({ length }) => length), count + 1);
  const after = { held: (await inspector.held()).bytes, resident: await residentBytes(app.pid) };
  const processes = await descendants(app.pid);
  const sizes = await Promise.all(processes.map((pid) => proportionalBytes(pid).catch(() => 0)));
  const sandboxes = sizes.reduce((sum, size) => sum + size, 0);
  const each = (after.resident - before.resident) / count;
  const heldEach = (after.held - before.held) / count;
  return [
    {
      what: `memory of the server for each driven conversation, of ${count}`,
      measured: `${(each / 1024).toFixed(0)} KiB, ${(heldEach / 1024).toFixed(0)} of them on the heap`,
      ...heldTo(share, `< ${DRIVEN_BYTES / 2 ** 20} MiB`, each < DRIVEN_BYTES),
      runs: { before, after },
    },
    {
      what: `memory of each sandbox with a shell (PSS), of ${count}`,
      measured: `${megabytes(sandboxes / (count + 1))} MB in ${(processes.length / (count + 1)).toFixed(1)} processes`,
      runs: { sandboxes, processes: processes.length },
    },
  ];
}

async function drive(app: Parley, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await app.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: `bench-${id}` });
  }
}

async function untilAsked(count: () => Promise<number>, wanted: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while ((await count()) < wanted) {
    if (performance.now() > deadline)
      throw new Error(`fewer than ${wanted} conversations got to their model again`);
    await sleep(100);
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
}

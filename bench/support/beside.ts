import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startParley, TEST_KEY } from '../../test/support/parley.ts';
import type { LoadResult, LoadSpec } from '../programs/load.ts';
import { heldTo, type Row, type Share } from '../row.ts';
import { Inspector, startInspected } from '../../test/support/inspector.ts';
import { processorTime } from './processes.ts';
import { runProgram, ServerProgram } from './program.ts';
import { median } from './statistics.ts';

const CONNECTIONS = 32;
/** Until V8 has compiled most of what a request runs through: before, one costs up to twice as much. */
const WARM_UP_SECONDS = 6;
const GOAL = 0.7;
const GOAL_P99_MS = 25;
const GOAL_DELAY_MS = 20;

/** A POST that is measured beside the bare server's. */
export interface Operation {
  name: string;
  path: string;
  bodies: readonly unknown[];
  /** Sent in turn; the bare server takes them for users. */
  keys: readonly string[];
  env: Record<string, string>;
  /** Before the server starts, with the folder its data will be in. */
  prepare?: (data: string) => Promise<void>;
  /** When it answers. */
  begin?: (url: string) => Promise<void>;
}

/** Hands an operation to `use`, with what it needs of the world around it for as long as that takes. */
export type WithOperation = (use: (operation: Operation) => Promise<Row[]>) => Promise<Row[]>;

export interface BesideOptions {
  share: Share;
  /** Pairs of a second each. */
  rounds: number;
  /** For both servers: a disk that is slow to sync. The delay of the event loop is then measured too. */
  slowDisk?: Record<string, string>;
}

type Round = LoadResult & { processorTime: number };
type Server = { port: number; pid: number };

/** Both servers in turns, so that what disturbs the machine disturbs both: the result is the median of the pairs. */
export async function besideRow(operation: Operation, options: BesideOptions): Promise<Row[]> {
  const connections = Math.round(CONNECTIONS * options.share);
  const folder = await mkdtemp(join(tmpdir(), 'posts-'));
  const data = join(folder, 'app');
  await operation.prepare?.(data);
  const start = options.slowDisk ? startInspected : startParley;
  await using app = await start({
    PARLEY_DATA_DIR: data,
    PARLEY_RATE_LIMIT: '0',
    ...operation.env,
    ...options.slowDisk,
  });
  await operation.begin?.(app.url);
  const ours = { port: Number(new URL(app.url).port), pid: app.pid };
  await using limit = await ServerProgram.start(
    ['bench/limits/posts.ts', '--data', folder],
    options.slowDisk,
  );

  for (const server of [ours, limit]) await load(server, operation, connections, WARM_UP_SECONDS);
  using inspector = options.slowDisk ? await Inspector.of(app) : undefined;
  const delay = await inspector?.delay();
  const runs: Pair[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const our = await load(ours, operation, connections, 1);
    runs.push({ ours: our, limit: await load(limit, operation, connections, 1) });
  }
  return [rowOf(operation, runs, options.share, await delay?.())];
}

interface Pair {
  ours: Round;
  limit: Round;
}

function rowOf({ name, path }: Operation, runs: readonly Pair[], share: Share, delay?: number): Row {
  const of = (value: (pair: Pair) => number) => median(runs.map(value));
  const ratio = of(({ ours, limit }) => ours.perSecond / limit.perSecond);
  const p99 = of(({ ours }) => ours.p99);
  const cost = (round: Round) => round.processorTime / round.requests;
  const held =
    delay === undefined
      ? heldTo(share, `≥ ${GOAL} of the limit, p99 < ${GOAL_P99_MS} ms`, ratio >= GOAL && p99 < GOAL_P99_MS)
      : heldTo(
          share,
          `≥ ${GOAL} of the limit, event loop delay p99 < ${GOAL_DELAY_MS} ms`,
          ratio >= GOAL && delay < GOAL_DELAY_MS,
        );
  return {
    what: `POST ${path}, ${name}, ${Math.round(CONNECTIONS * share)} connections`,
    measured:
      `${of(({ ours }) => ours.perSecond).toFixed(0)}/s = ${ratio.toFixed(2)} of the limit, p99 ${p99.toFixed(1)} ms` +
      (delay === undefined
        ? `, ${of(({ ours }) => cost(ours)).toFixed(0)} µs of processor each`
        : `, event loop delay p99 ${delay.toFixed(1)} ms`),
    limit: `${of((pair) => pair.limit.perSecond).toFixed(0)}/s, p99 ${of((pair) => pair.limit.p99).toFixed(1)} ms, ${of((pair) => cost(pair.limit)).toFixed(0)} µs`,
    ...held,
    runs,
  };
}

async function load(
  server: Server,
  { path, bodies, keys }: Operation,
  connections: number,
  seconds: number,
): Promise<Round> {
  const most = Math.max(bodies.length, keys.length);
  const requests = Array.from({ length: most }, (_, n) => ({
    method: 'POST',
    path,
    key: keys[n % keys.length] ?? TEST_KEY,
    body: bodies[n % bodies.length],
  }));
  const spec: LoadSpec = { port: server.port, connections, seconds, requests };
  const before = await processorTime(server.pid);
  const result = await runProgram<LoadResult>('bench/programs/load.ts', spec);
  return { ...result, processorTime: (await processorTime(server.pid)) - before };
}

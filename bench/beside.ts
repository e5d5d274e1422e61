import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from './load.ts';
import { median } from './median.ts';
import { freePort, runProgram, ServerProgram } from './program.ts';
import type { Row } from './row.ts';

const ROUNDS = 12;
const SECONDS = 1;
const WARM_UP_SECONDS = 3;
const CONNECTIONS = 32;
const GOAL = 0.7;
const GOAL_P99_MS = 25;

/** A POST that is measured beside the bare server's. */
export interface Operation {
  path: string;
  bodies: readonly unknown[];
  /** Sent in turn; the bare server does not look at them. */
  keys: readonly string[];
  env: Record<string, string>;
  /** Before the server starts, with the folder its data will be in. */
  prepare?: (data: string) => Promise<void>;
  /** When it answers. */
  begin?: (port: number) => Promise<void>;
}

type Round = LoadResult & { processorTime: number };

/** Both servers in turns, so that what disturbs the machine disturbs both: the result is the median of the pairs. */
export async function besideRow(name: string, operation: Operation): Promise<Row> {
  const data = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  try {
    return await measure(name, operation, data);
  } finally {
    await rm(data, { recursive: true });
  }
}

async function measure(name: string, operation: Operation, data: string): Promise<Row> {
  const [port, limitPort] = [await freePort(), await freePort()];
  await operation.prepare?.(join(data, 'app'));
  await using app = await ServerProgram.start(['src/main.ts', 'serve'], port, {
    PORT: String(port),
    PARLEY_DATA_DIR: join(data, 'app'),
    PARLEY_RATE_LIMIT: '0',
    ...operation.env,
  });
  await operation.begin?.(port);
  const limitArgs = ['bench/limit-server.ts', '--port', String(limitPort), '--data', data];
  await using limit = await ServerProgram.start(limitArgs, limitPort);

  const runs: { ours: Round; limit: Round }[] = [];
  for (const server of [app, limit]) await load(server, operation, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const ours = await load(app, operation, SECONDS);
    runs.push({ ours, limit: await load(limit, operation, SECONDS) });
  }
  const of = (value: (pair: (typeof runs)[number]) => number) => median(runs.map(value));
  const ratio = of(({ ours, limit: best }) => ours.perSecond / best.perSecond);
  const p99 = of(({ ours }) => ours.p99);
  const cost = (round: Round) => round.processorTime / round.requests;
  return {
    name: `POST ${operation.path}, ${name}, ${CONNECTIONS} connections`,
    measured: `${of(({ ours }) => ours.perSecond).toFixed(0)}/s, p99 ${p99.toFixed(1)} ms, ${of(({ ours }) => cost(ours)).toFixed(0)} µs of processor each`,
    limit: `${of((pair) => pair.limit.perSecond).toFixed(0)}/s, ${of((pair) => cost(pair.limit)).toFixed(0)} µs`,
    result: ratio.toFixed(2),
    goal: `≥ ${GOAL}, p99 < ${GOAL_P99_MS} ms`,
    reached: ratio >= GOAL && p99 < GOAL_P99_MS,
    runs,
  };
}

async function load(
  server: ServerProgram,
  { path, bodies, keys }: Operation,
  seconds: number,
): Promise<Round> {
  const options = { port: server.port, path, keys: keys.join(','), connections: CONNECTIONS, seconds };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const before = await server.processorTime();
  const result: LoadResult = JSON.parse(await runProgram(['bench/load.ts', ...args], JSON.stringify(bodies)));
  return { ...result, processorTime: (await server.processorTime()) - before };
}

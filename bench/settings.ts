import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from './load.ts';
import { median } from './median.ts';
import { freePort, runProgram, ServerProgram } from './program.ts';
import type { Row } from './row.ts';
import { SETTINGS_BODIES } from './settings-body.ts';

const ROUNDS = 5;
const SECONDS = 3;
const WARM_UP_SECONDS = 2;
const CONNECTIONS = 32;
const GOAL = 0.7;
const KEY = 'a-key-of-the-bench-long-enough';

/** POST of all 25 settings members, beside a bare server of the same stack, in turns. */
export async function settingsRow(): Promise<Row> {
  const data = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  try {
    return await measure(data);
  } finally {
    await rm(data, { recursive: true });
  }
}

async function measure(data: string): Promise<Row> {
  const [port, limitPort] = [await freePort(), await freePort()];
  await using app = await ServerProgram.start(['src/main.ts', 'serve'], port, {
    PORT: String(port),
    PARLEY_DATA_DIR: join(data, 'app'),
    PARLEY_RATE_LIMIT: '0',
    PARLEY_SANDBOX: 'none',
    SESSION_API_KEY: KEY,
  });
  const limitArgs = ['bench/limit-settings.ts', '--port', String(limitPort), '--data', data];
  await using limit = await ServerProgram.start(limitArgs, limitPort);

  const runs: Record<'ours' | 'limit', LoadResult[]> = { ours: [], limit: [] };
  for (const server of [app, limit]) await load(server.port, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    runs.ours.push(await load(app.port, SECONDS));
    runs.limit.push(await load(limit.port, SECONDS));
  }
  const ours = median(runs.ours.map(({ perSecond }) => perSecond));
  const best = median(runs.limit.map(({ perSecond }) => perSecond));
  const p99 = median(runs.ours.map((run) => run.p99));
  return {
    name: `POST /api/settings, 25 members, ${CONNECTIONS} connections`,
    measured: `${Math.round(ours)}/s, p99 ${p99.toFixed(1)} ms`,
    limit: `${Math.round(best)}/s`,
    result: (ours / best).toFixed(2),
    goal: `≥ ${GOAL}`,
    reached: ours / best >= GOAL,
    runs,
  };
}

async function load(port: number, seconds: number): Promise<LoadResult> {
  const options = {
    port,
    path: '/api/settings',
    key: KEY,
    connections: CONNECTIONS,
    seconds,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return JSON.parse(await runProgram(['bench/load.ts', ...args], JSON.stringify(SETTINGS_BODIES)));
}

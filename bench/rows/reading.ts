import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startParley, TEST_KEY } from '../../test/support/parley.ts';
import type { LoadResult, LoadSpec } from '../programs/load.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import { runProgram, ServerProgram } from '../support/program.ts';
import { seededData } from '../support/seed.ts';

const MANY = 100_000;
const SECONDS = 3;
const PLACES = 200;
const GOAL_MS = 5;

interface Reading {
  what: string;
  paths: string[];
}

/** Pages of what grows without end: they cost the same wherever they are. One request at a time. */
export const reading: Subject = {
  seconds: 240,
  measure: async (share) => {
    const many = MANY * share;
    const places = Array.from({ length: PLACES }, (_, n) => Math.floor((n * (many - 100)) / PLACES));
    const list: Reading[] = [
      { what: `list 50 of ${many} conversations`, paths: ['/api/conversations?limit=50'] },
      {
        what: `list 50 of ${many} conversations of a repository that has none`,
        paths: ['/api/conversations?limit=50&selected_repository=ann/nothing'],
      },
      {
        what: `list 50 of ${many} conversations of a repository that has some`,
        paths: ['/api/conversations?limit=50&selected_repository=ann/project-6'],
      },
    ];
    const pages: Reading = {
      what: `read 100 events at any place of ${many}`,
      paths: places.map((from) => `/api/conversations/c0/events?limit=100&start_id=${from}`),
    };
    return [
      ...(await measure(await seededData({ conversations: many, events: 2 }), list, share)),
      ...(await measure(await seededData({ conversations: 1, events: many }), [pages], share)),
    ];
  },
};

async function measure(data: string, readings: readonly Reading[], share: Share): Promise<Row[]> {
  const rows: Row[] = [];
  await using app = await startParley({
    PARLEY_DATA_DIR: data,
    PARLEY_RATE_LIMIT: '0',
    PARLEY_SANDBOX: 'none',
  });
  const args = ['bench/limits/reading.ts', '--database', join(data, 'parley.db')];
  await using limit = await ServerProgram.start(args);
  for (const { what, paths } of readings) {
    const ours = await load(Number(new URL(app.url).port), paths);
    const best = await load(limit.port, paths);
    rows.push({
      what,
      measured: `p95 ${ours.p95.toFixed(1)} ms, median ${ours.median.toFixed(1)} ms`,
      limit: `p95 ${best.p95.toFixed(1)} ms, median ${best.median.toFixed(1)} ms`,
      ...heldTo(share, `p95 < ${GOAL_MS} ms`, ours.p95 < GOAL_MS),
      runs: { ours, limit: best },
    });
  }
  await app.stop();
  await rm(data, { recursive: true });
  return rows;
}

function load(port: number, paths: readonly string[]): Promise<LoadResult> {
  const requests = paths.map((path) => ({ method: 'GET', path, key: TEST_KEY }));
  const spec: LoadSpec = { port, connections: 1, seconds: SECONDS, requests };
  return runProgram('bench/programs/load.ts', spec);
}

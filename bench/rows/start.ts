import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { heldTo, type Subject } from '../row.ts';
import { COMPILED } from '../support/compiled.ts';
import { residentBytes } from '../support/processes.ts';
import { ServerProgram } from '../support/program.ts';
import { type Past, seededData } from '../support/seed.ts';
import { startServed } from '../support/served.ts';
import { median } from '../support/statistics.ts';

const PAST: Past = { conversations: 1_000, events: 500 };
const STARTS = 5;
const GOAL_MS = 1_000;
const GOAL_BYTES = 150e6;

/** From the start of the process until it answers, with a past behind it. */
export const start: Subject = {
  seconds: 120,
  measure: async (share) => {
    const past = { ...PAST, conversations: PAST.conversations * share };
    const data = await seededData(past);
    const runs = { ours: [] as number[], bytes: [] as number[], limit: [] as number[] };
    // The first start compiles.
    await (await startServed({ PARLEY_DATA_DIR: data })).stop();
    for (let n = 0; n < STARTS; n += 1) {
      const begun = performance.now();
      await using app = await startServed({ PARLEY_DATA_DIR: data });
      await app.request('GET', '/alive');
      runs.ours.push(performance.now() - begun);
      runs.bytes.push(await residentBytes(app.pid));
      const empty = await mkdtemp(join(tmpdir(), 'start-'));
      const bareBegun = performance.now();
      await using _ = await ServerProgram.start(['bench/limits/posts.ts', '--data', empty], COMPILED);
      runs.limit.push(performance.now() - bareBegun);
    }
    const [ms, bytes] = [median(runs.ours), median(runs.bytes)];
    return [
      {
        what: `start with ${past.conversations} conversations and ${past.conversations * past.events} events`,
        measured: `${ms.toFixed(0)} ms, ${(bytes / 1e6).toFixed(0)} MB`,
        limit: `${median(runs.limit).toFixed(0)} ms`,
        ...heldTo(
          share,
          `< ${GOAL_MS / 1000} s, < ${GOAL_BYTES / 1e6} MB`,
          ms < GOAL_MS && bytes < GOAL_BYTES,
        ),
        runs,
      },
    ];
  },
};

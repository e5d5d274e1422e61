import { setTimeout as sleep } from 'node:timers/promises';
import { type Parley, startParley } from '../../test/support/parley.ts';
import type { Gap } from '../programs/model.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import { gapsOf, startModel, useModel } from '../support/model.ts';
import { processorTime } from '../support/processes.ts';
import { median, quantile } from '../support/statistics.ts';

const CONVERSATIONS = 200;
/** So many go before those that count, as a share of them. */
const WARM_UP = 0.1;
const STEPS = 10;
const MODEL_MS = 1_000;
const GOAL_MS = 50;
const PATIENCE_MS = 100_000;
/** What their names begin with. */
const WARMING = 'bench-w';
const COUNTED = 'bench-c';

/**
 * As many conversations as one machine drives at once, whose models answer after a second: what a step takes beyond
 * that. Their steps are thoughts, so that no command's time is in it; beside it the same with commands in sandboxes.
 * The first step, which also makes the workspace, is left out. A tenth as many go before them and are not counted: in the
 * first steps of a process V8 compiles what they run through, and others wait for each.
 */
export const manyDriven: Subject = {
  seconds: 240,
  measure: async (share) => [
    await drive(CONVERSATIONS * share, 'think', share),
    await drive(CONVERSATIONS * share, 'execute_bash', share),
  ],
};

async function drive(count: number, tool: 'think' | 'execute_bash', share: Share): Promise<Row> {
  await using model = await startModel({ steps: STEPS, tool, delay: MODEL_MS });
  await using app = await startParley({ PARLEY_MAX_RUNNING: '1000,1000', PARLEY_RATE_LIMIT: '0' });
  await useModel(app, model);
  await driveToRest(app, Math.ceil(count * WARM_UP), WARMING);
  const begun = { at: performance.now(), used: await processorTime(app.pid) };
  const { failed, late } = await driveToRest(app, count, COUNTED);
  const used = (await processorTime(app.pid)) - begun.used;
  const steps = (await gapsOf(model)).filter(isCounted).map(({ ms }) => ms);
  const [p95, middle] = [quantile(steps, 0.95), median(steps)];
  const cost = used / 1000 / (count * STEPS);
  const withCommands = tool === 'execute_bash';
  return {
    what: `${count} conversations driven at once, model answers after ${MODEL_MS / 1000} s, ${withCommands ? 'each step a command in its sandbox' : 'no commands'}`,
    measured: `${failed} failed${late === 0 ? '' : `, ${late} not done in ${PATIENCE_MS / 1000} s`}; overhead of a step p95 ${p95.toFixed(0)} ms, median ${middle.toFixed(0)} ms; ${cost.toFixed(1)} CPU-ms of the server per step`,
    ...(withCommands
      ? {}
      : heldTo(share, `no failure, p95 < ${GOAL_MS} ms`, failed + late === 0 && p95 < GOAL_MS)),
    runs: { failed, late, p95, median: middle, cost, seconds: (performance.now() - begun.at) / 1000 },
  };
}

function isCounted({ conversation, step }: Gap): boolean {
  return conversation.startsWith(COUNTED) && step > 1;
}

/** How many of them failed, and how many go on for too long. */
async function driveToRest(
  app: Parley,
  count: number,
  prefix: string,
): Promise<{ failed: number; late: number }> {
  const ids = Array.from({ length: count }, (_, n) => `${prefix}${n}`);
  // One after the other: models that answer all at once are not to be found.
  await Promise.all(
    ids.map(async (id, n) => {
      await sleep((n * MODEL_MS) / count);
      await app.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: id });
    }),
  );
  return await untilAllRest(app, ids);
}

async function untilAllRest(app: Parley, ids: readonly string[]): Promise<{ failed: number; late: number }> {
  const deadline = performance.now() + PATIENCE_MS;
  await sleep(STEPS * MODEL_MS);
  for (;;) {
    const states = await statesOf(app, ids.length);
    const open = states.filter((state) => !['awaiting_user_input', 'finished', 'error'].includes(state));
    if (open.length === 0 || performance.now() > deadline) {
      return { failed: states.filter((state) => state === 'error').length, late: open.length };
    }
    await sleep(500);
  }
}

async function statesOf(app: Parley, count: number): Promise<string[]> {
  const states: string[] = [];
  for (let page = ''; states.length < count;) {
    const path = `/api/conversations?limit=100${page === '' ? '' : `&page_id=${page}`}`;
    const reply = (await app.ok('GET', path)) as {
      results: { agent_state: string }[];
      next_page_id: string | null;
    };
    states.push(...reply.results.map(({ agent_state }) => agent_state));
    if (reply.next_page_id === null) break;
    page = reply.next_page_id;
  }
  return states;
}

import { startParley } from '../../test/support/parley.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import type { Gap, ModelSpec } from '../programs/model.ts';
import { gapsOf, startModel, useModel } from '../support/model.ts';
import { runProgram } from '../support/program.ts';
import { median, quantile } from '../support/statistics.ts';

const HISTORIES = [10, 200, 2_000];
/** Steps on either side of that history whose median counts. */
const AROUND = 9;
const GOAL_MS = 3;
const MODEL: ModelSpec = { steps: 0, tool: 'think', delay: 0 };

/**
 * What a step costs besides the model's time and the command's: from the end of one answer to the next request, in one
 * conversation that grows. A thought is noted by the log alone, so that no command's time is in it.
 */
export const stepOverhead: Subject = {
  seconds: 150,
  measure: async (share) => {
    const histories = HISTORIES.map((steps) => Math.max(1, Math.round(steps * share)));
    const steps = Math.max(...histories) + AROUND;
    const [ours, limit] = [await drive(steps), await driveBare(steps)];
    return histories.map((history) => rowOf(history, share, { ours, limit }));
  },
};

async function drive(steps: number): Promise<Gap[]> {
  await using model = await startModel({ ...MODEL, steps });
  await using app = await startParley({ PARLEY_RATE_LIMIT: '0', PARLEY_SANDBOX: 'none' });
  await useModel(app, model);
  await app.ok('POST', '/api/conversations', { conversation_id: 'long', initial_user_msg: 'bench-1' });
  const patience = 120_000;
  const { error } = await app.until(
    'long',
    ({ agent_state }) => ['error', 'awaiting_user_input', 'finished'].includes(agent_state),
    patience,
  );
  if (error) throw new Error(error.message);
  return await gapsOf(model);
}

async function driveBare(steps: number): Promise<Gap[]> {
  await using model = await startModel({ ...MODEL, steps });
  await runProgram('bench/limits/agent.ts', { url: model.url, steps });
  return await gapsOf(model);
}

function rowOf(history: number, share: Share, { ours, limit }: { ours: Gap[]; limit: Gap[] }): Row {
  const near = (gaps: Gap[]) =>
    gaps.filter(({ step }) => Math.abs(step - history) <= AROUND).map(({ ms }) => ms);
  const middle = median(near(ours));
  return {
    what: `harness overhead of a step, ${history} steps of history`,
    measured: `${middle.toFixed(1)} ms, p95 ${quantile(near(ours), 0.95).toFixed(1)} ms`,
    limit: `${median(near(limit)).toFixed(1)} ms`,
    ...heldTo(share, `< ${GOAL_MS} ms`, middle < GOAL_MS),
    runs: { ours: near(ours), limit: near(limit) },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type Parley, startParley, type View } from '../../test/support/parley.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import type { Gap, ModelSpec } from '../programs/model.ts';
import { gapsOf, startModel, useModel } from '../support/model.ts';
import type { Neighbour } from '../support/neighbour.ts';
import { runProgram } from '../support/program.ts';
import { median, quantile } from '../support/statistics.ts';

const HISTORIES = [10, 200, 2_000];
/** Steps on either side of that history whose median counts. */
const AROUND = 9;
const GOAL_MS = 3;
/** Tokens that a model without a name of its own is taken to read, in a conversation that is condensed to fit. */
const SMALL_WINDOW = 32_768;
/** Steps of the conversation that runs a command in each. */
const COMMANDS = 200;
/** One after the other, by their first messages. The last one counts. */
const CONVERSATIONS = ['bench-first', 'bench-second'];

/**
 * What a step costs besides the model's time and the command's: from the end of one answer to the next request, in one
 * conversation that grows. A thought is noted by the log alone, so that no command's time is in it. The longest history is
 * measured in a small window, too; and so are steps that run a command, each of which waits for one more write.
 *
 * Of both sides the second conversation of a process is measured, after one that is as long: in the first twenty steps
 * that a process takes, V8 compiles what they run through, which would be in the line of ten steps and nowhere else.
 */
export const stepOverhead: Subject = {
  seconds: 360,
  measure: async (share) => {
    const histories = HISTORIES.map((steps) => Math.max(1, Math.round(steps * share)));
    const steps = Math.max(...histories) + AROUND;
    const [ours, limit] = [await drive({ steps }), await driveBare(steps)];
    const small = await drive({ steps }, 'bench');
    const commands = Math.max(1, Math.round(COMMANDS * share));
    const commanded = await drive({ steps: commands + AROUND, tool: 'execute_bash' });
    const longest = Math.max(...histories);
    return [
      ...histories.map((history) =>
        rowOf(`${history} steps of history`, share, near({ ours, limit }, history)),
      ),
      rowOf(
        `${longest} steps of history, a window of ${SMALL_WINDOW / 1024}k tokens`,
        share,
        near({ ours: small }, longest),
      ),
      ofCommands(commands, near({ ours: commanded }, commands)),
    ];
  },
};

/** @param name of the model, when not one of a large window */
async function drive(
  { steps, tool = 'think' }: { steps: number; tool?: ModelSpec['tool'] },
  name?: string,
): Promise<Gap[]> {
  await using model = await startModel({ steps, tool, delay: 0 });
  await using app = await startParley({
    PARLEY_RATE_LIMIT: '0',
    ...(tool === 'think' && { PARLEY_SANDBOX: 'none' }),
    PARLEY_MODEL_WINDOW_TOKENS: String(SMALL_WINDOW),
  });
  await useModel(app, model, name);
  for (const name of CONVERSATIONS) {
    await app.ok('POST', '/api/conversations', { conversation_id: name, initial_user_msg: name });
    await untilItRests(app, name);
  }
  return await counted(model);
}

/** Looks seldom: the step that is under way would wait for it. */
async function untilItRests(app: Parley, id: string): Promise<void> {
  for (;;) {
    await sleep(1_000);
    const { agent_state, error } = (await app.ok('GET', `/api/conversations/${id}`)) as View;
    if (error) throw new Error(error.message);
    if (['awaiting_user_input', 'finished'].includes(agent_state)) return;
  }
}

async function driveBare(steps: number): Promise<Gap[]> {
  await using model = await startModel({ steps, tool: 'think', delay: 0 });
  await runProgram('bench/limits/agent.ts', { url: model.url, steps, conversations: CONVERSATIONS });
  return await counted(model);
}

async function counted(model: Neighbour): Promise<Gap[]> {
  return (await gapsOf(model)).filter(({ conversation }) => conversation === CONVERSATIONS.at(-1));
}

interface Measured {
  ours: number[];
  limit?: number[];
}

/** What steps about that one took. */
function near({ ours, limit }: { ours: Gap[]; limit?: Gap[] }, history: number): Measured {
  const about = (gaps: Gap[]) =>
    gaps.filter(({ step }) => Math.abs(step - history) <= AROUND).map(({ ms }) => ms);
  return { ours: about(ours), ...(limit && { limit: about(limit) }) };
}

function rowOf(of: string, share: Share, { ours, limit }: Measured): Row {
  return {
    what: `harness overhead of a step, ${of}`,
    measured: timeOf(ours),
    ...(limit && { limit: `${median(limit).toFixed(1)} ms` }),
    ...heldTo(share, `< ${GOAL_MS} ms`, median(ours) < GOAL_MS),
    runs: { ours, limit },
  };
}

/** Held to nothing: the time of the command and of its shell is in it. */
function ofCommands(commands: number, { ours }: Measured): Row {
  return {
    what: `a step that runs \`true\`, ${commands} steps of history`,
    measured: timeOf(ours),
    runs: { ours },
  };
}

function timeOf(ms: readonly number[]): string {
  return `${median(ms).toFixed(1)} ms, p95 ${quantile(ms, 0.95).toFixed(1)} ms`;
}

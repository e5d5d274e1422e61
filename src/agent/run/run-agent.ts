import type { NewEvent } from '../../events/event.ts';
import { ConversationGone, Fenced } from '../../events/log.ts';
import { TimeLimit } from '../../time-limit.ts';
import type { AgentContext, AgentOutcome } from '../context.ts';
import { timedOut } from '../failure.ts';
import type { Mind } from '../minds/mind.ts';
import { NoModelMind } from '../minds/no-model-mind.ts';
import { ReplayMind } from '../minds/replay-mind.ts';
import { Run } from './run.ts';
import { RunLog } from '../run-log.ts';
import { SelfCheckMind } from '../minds/self-check.ts';
import { ModelMind } from '../minds/model-mind.ts';

/**
 * Drives a conversation until the agent waits, ends the task, fails or is aborted. First it settles what a former
 * run left: what was begun is told to be of unknown outcome and never repeated, what was recorded alone is done.
 *
 * Everything it knows it has from the log, so a run that takes over after a crash goes on as the one before would.
 * @throws what the journal throws, but for the two that say that another one drives
 */
export async function runAgent(given: AgentContext): Promise<AgentOutcome> {
  const { signal, timeouts } = given;
  using limit = timeouts ? new TimeLimit(signal, timeouts.runMs) : null;
  const context = limit ? { ...given, signal: limit.signal } : given;
  try {
    return await drive(new Run(context, mindOf(context)), limit);
  } catch (error) {
    if (error instanceof Fenced || error instanceof ConversationGone) return { kind: 'aborted' };
    if (signal.aborted) return { kind: 'aborted' };
    throw error;
  }
}

/**
 * Carries out what the user has asked for while the agent rests, which stays as it is. What a former run had begun is
 * told to be of unknown outcome, as by {@link runAgent}. False when the signal ended it.
 * @throws what the journal throws, but for the two that say that another one drives
 */
export async function serveUser(context: AgentContext): Promise<boolean> {
  try {
    await new Run(context, new NoModelMind()).serveUser();
    return true;
  } catch (error) {
    if (error instanceof Fenced || error instanceof ConversationGone || context.signal.aborted) return false;
    throw error;
  }
}

/** The `system` event that the log is to begin with; null when it has it, or where there is none. */
export async function introductionOf(context: AgentContext): Promise<NewEvent | null> {
  const log = new RunLog(context.journal);
  await log.open(context.condensation ?? -1);
  return mindOf(context).introduction(log);
}

async function drive(run: Run, limit: TimeLimit | null): Promise<AgentOutcome> {
  try {
    return await run.drive();
  } catch (error) {
    if (!limit?.isOver || error !== limit.signal.reason) throw error;
    return await run.giveUp(timedOut());
  }
}

function mindOf(context: AgentContext): Mind {
  const mind = mindAfterReplay(context);
  return context.replay?.length ? new ReplayMind(context, context.replay, mind) : mind;
}

function mindAfterReplay(context: AgentContext): Mind {
  const { agent, model } = context;
  if (agent === 'DummyAgent') return new SelfCheckMind(context);
  return model ? new ModelMind({ ...context, model }) : new NoModelMind();
}

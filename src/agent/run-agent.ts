import { ConversationGone, Fenced } from '../events/log.ts';
import type { AgentContext, AgentOutcome } from './context.ts';
import { Run } from './run.ts';
import { SelfCheckMind } from './self-check.ts';
import { ModelMind } from './model-mind.ts';

/**
 * Drives a conversation until the agent waits, ends the task, fails or is aborted. First it settles what a former
 * run left: what was begun is told to be of unknown outcome and never repeated, what was recorded alone is done.
 *
 * Everything it knows it has from the log, so a run that takes over after a crash goes on as the one before would.
 * @throws what the journal throws, but for the two that say that another one drives
 */
export async function runAgent(context: AgentContext): Promise<AgentOutcome> {
  try {
    const mind = context.agent === 'DummyAgent' ? new SelfCheckMind(context) : new ModelMind(context);
    return await new Run(context, mind).drive();
  } catch (error) {
    if (error instanceof Fenced || error instanceof ConversationGone) return { kind: 'aborted' };
    if (context.signal.aborted) return { kind: 'aborted' };
    throw error;
  }
}

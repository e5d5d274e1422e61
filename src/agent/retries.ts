import { setTimeout as sleep } from 'node:timers/promises';

import type { ModelOutcome } from '../model/step.ts';
import type { AgentContext } from './context.ts';

const RETRIES = 5;
const FIRST_WAIT_MS = 1_000;
/** A provider that asks for more than this has said no. */
const LONGEST_WAIT_MS = 120_000;

const PASSING = new Set(['rate_limited', 'unavailable', 'server_error', 'interrupted']);

/**
 * Asks again, after waits that double or as the provider says, when what failed may pass by itself. Each retry is
 * told to who watches, in V0's words.
 * @throws the signal's reason, when it aborts
 */
export async function retried(
  ask: () => Promise<ModelOutcome>,
  context: Pick<AgentContext, 'signal' | 'notify'>,
): Promise<ModelOutcome> {
  for (let retry = 1; ; retry += 1) {
    const outcome = await ask();
    if (outcome.ok || retry > RETRIES || !PASSING.has(outcome.failure.kind)) return outcome;
    const wait = outcome.failure.retryAfterMs ?? jittered(FIRST_WAIT_MS * 2 ** (retry - 1));
    if (wait > LONGEST_WAIT_MS) return outcome;
    context.notify({
      type: 'info',
      id: 'STATUS$LLM_RETRY',
      message: `Retrying LLM request, ${retry} / ${RETRIES}: ${outcome.failure.message}`,
    });
    await sleep(wait, undefined, { signal: context.signal }).catch((error: unknown) => {
      context.signal.throwIfAborted();
      throw error;
    });
  }
}

/** Many conversations that fail at once shall not ask again at once. */
function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}

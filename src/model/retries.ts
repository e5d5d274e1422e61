import { setTimeout } from 'node:timers/promises';

import type { ModelFailure } from './failure.ts';
import type { ModelOutcome } from './answer.ts';

/** How often a call is tried in all. */
const TRIES = 5;
const FIRST_WAIT_MS = 1_000;
/** A provider that asks for more has said no. */
const LONGEST_WAIT_MS = 120_000;

const PASSING: ReadonlySet<ModelFailure['kind']> = new Set([
  'rate_limited',
  'unavailable',
  'server_error',
  'interrupted',
]);

export interface Retries {
  /** Before each wait: which try the next one is, of how many, why, and the wait. */
  onRetry?: (n: number, of: number, reason: ModelFailure, delayMs: number) => void;
  /** Rejects with the signal's reason when it aborts. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** An attempt that was not made, for a reason that no wait takes away. */
interface NotMade {
  ok: false;
  failure: null;
}

/**
 * Asks the model, and asks again when what failed may pass by itself: after waits that double, or as long as the
 * provider says. Gives the last failure when none of the tries succeeds.
 * @param attempt one call, such as `modelStep`
 * @throws what `attempt` throws; the signal's reason, when it aborts
 */
export async function withRetries<Other extends NotMade = never>(
  attempt: () => Promise<ModelOutcome | Other>,
  signal: AbortSignal,
  retries: Retries = {},
): Promise<ModelOutcome | Other> {
  const { onRetry, sleep = wait } = retries;
  for (let tried = 1; ; tried += 1) {
    const outcome = await attempt();
    if (outcome.ok || outcome.failure === null || tried === TRIES) return outcome;
    if (!PASSING.has(outcome.failure.kind)) return outcome;
    const delay = outcome.failure.retryAfterMs ?? jittered(FIRST_WAIT_MS * 2 ** (tried - 1));
    if (delay > LONGEST_WAIT_MS) return outcome;
    onRetry?.(tried + 1, TRIES, outcome.failure, delay);
    await sleep(delay, signal);
  }
}

/** Many conversations that fail at once shall not ask again at once. */
function jittered(ms: number): number {
  return Math.round(ms * (0.75 + Math.random() / 2));
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

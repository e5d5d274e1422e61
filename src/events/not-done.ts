import { errorObservation } from './build.ts';
import type { NewEvent } from './event.ts';

/** V0's ids for an action that was recorded and not carried out: its pages have words for them. */
export const NOT_EXECUTED = 'AGENT_ERROR$ERROR_ACTION_NOT_EXECUTED_ERROR';
export const STOPPED = 'AGENT_ERROR$ERROR_ACTION_NOT_EXECUTED_STOPPED';

/** The answer of an action that is not carried out. */
export function notDone(cause: number, reason: string, id = NOT_EXECUTED): NewEvent {
  return errorObservation(reason, id, { cause });
}

/** The answer of an action that was begun, and of which no more is known. */
export function unknownOutcome(cause: number): NewEvent {
  return notDone(
    cause,
    'The service was interrupted while this was being done, so its outcome is not known: it may have had all, a part or none of its effect. It was not repeated. Look at what is there before you go on.',
  );
}

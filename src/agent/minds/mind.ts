import type { NewEvent, ToolCallMetadata } from '../../events/event.ts';
import type { Failure } from '../failure.ts';
import type { RunLog } from '../run-log.ts';
import type { Recorded } from './record.ts';

export type Decision = { ok: true; step: Recorded } | { ok: false; failure: Failure };

/** What decides the next step: a model, or a fixed list. */
export interface Mind {
  /** The `system` event that this run begins with; null when the log says the same already. */
  introduction(log: RunLog): NewEvent | null;
  /** Says what is to be said in the user's place before the next step. */
  interject?(log: RunLog): Promise<void>;
  /**
   * @param iterations steps taken so far
   * @throws the run's abort reason
   */
  decide(log: RunLog, iterations: number): Promise<Decision>;
  /** The calls that its last answer has beyond those that were recorded; only of a mind that makes several at once. */
  later?(held: ToolCallMetadata): Recorded;
  /** The run ends: what is left to be said of it. */
  ended?(log: RunLog): Promise<void>;
}

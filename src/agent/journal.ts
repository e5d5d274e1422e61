import type { Event, NewEvent } from '../events/event.ts';
import type { OpenAction } from '../events/open-action.ts';
import type { ProviderWrite } from './tools/provider/hosted.ts';

/** What came of the action at the index `to` of a step. */
export interface Answered {
  to: number;
  event: NewEvent;
}

/** What is stored with the events of a step: indexes of its actions, and how many steps were taken. */
export interface StepRecord {
  iterations: number;
  open: readonly number[];
  started?: number;
  awaiting?: number;
  /** What came of those that are not open, after the step itself. */
  answers?: readonly Answered[];
  /** Calls of the model whose cost the events tell: nothing is set aside for them any more. */
  settled?: readonly number[];
}

/**
 * The log as one run writes it: every write is fenced by the run's generation, and every text is redacted before it
 * is stored. A write that resolves is on disk.
 */
export interface Journal {
  /** @param settled as in {@link StepRecord} */
  append(events: readonly NewEvent[], settled?: readonly number[]): Promise<Event[]>;
  /** Sets aside what a call of the model may cost, in US dollars, in place of what was before; 0 for nothing. */
  reserve(call: number, dollars: number): Promise<void>;
  /**
   * Appends what one step of the model decided. Each action that wants an answer becomes an open one, `recorded`;
   * the one at index `started` is `started` at once, which saves a commit; the one at index `awaiting` waits for its
   * user. Gives the events of the step, then the answers to them. Also stores how many steps were taken.
   */
  recordStep(events: readonly NewEvent[], step: StepRecord): Promise<Event[]>;
  /** Durable before the action has any effect. */
  start(eventId: number): Promise<void>;
  /**
   * Appends observations, and closes the open actions they name as `cause`. What was written to the git provider
   * meanwhile is noted with them.
   */
  answer(observations: readonly NewEvent[], writes?: readonly ProviderWrite[]): Promise<Event[]>;
  openActions(): Promise<OpenAction[]>;
  /** Events from `from` on, oldest first, at most `limit`. */
  read(from: number, limit: number): Promise<Event[]>;
  /** The id of the newest message of the user, -1 before the first. Cheap: asked at every step. */
  lastUserMessage(): Promise<number>;
}

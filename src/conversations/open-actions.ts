import type { OpenAction, OpenActionState } from '../events/open-action.ts';

/** The open actions of conversations: answered ones are closed, in the transaction that answers them. */
export interface OpenActionStore {
  /** In the order of the log. */
  of(conversation: number): Promise<OpenAction[]>;
  set(conversation: number, eventId: number, state: OpenActionState): Promise<void>;
  close(conversation: number, eventIds: readonly number[]): Promise<void>;
}

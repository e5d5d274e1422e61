/** recorded: not begun. asked: the user's own, not begun. awaiting: for its user. started: may have had its effect. */
export type OpenActionState = 'recorded' | 'asked' | 'awaiting' | 'started';

/** An action of the log that has no answer yet. */
export interface OpenAction {
  eventId: number;
  state: OpenActionState;
}

/** The open actions of conversations: answered ones are closed, in the transaction that answers them. */
export interface OpenActionStore {
  /** In the order of the log. */
  of(conversation: number): Promise<OpenAction[]>;
  set(conversation: number, eventId: number, state: OpenActionState): Promise<void>;
  close(conversation: number, eventIds: readonly number[]): Promise<void>;
}

/** recorded: not begun. asked: the user's own, not begun. awaiting: for its user. started: may have had its effect. */
export type OpenActionState = 'recorded' | 'asked' | 'awaiting' | 'started';

/** An action of the log that has no answer yet. */
export interface OpenAction {
  eventId: number;
  state: OpenActionState;
}

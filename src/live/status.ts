/** What who watches is told besides the log: V0's `status_update`. Not stored, and lost to who is away. */
export interface StatusUpdate {
  status_update: true;
  type: 'info' | 'error';
  id?: string;
  message: string;
  /** Ours, of a call of the model that is tried again: why. */
  reason?: string;
  conversation_title?: string;
}

/** Told when a conversation begins to wait for its turn, and to who comes while it does. V0 has no such status. */
export const WAITS_FOR_ITS_TURN: StatusUpdate = {
  status_update: true,
  type: 'info',
  id: 'STATUS$QUEUED',
  message: 'Waiting for its turn: as many conversations are at work as may be at once',
};

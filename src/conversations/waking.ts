import type { ConversationStatus } from '../contract/conversations.ts';
import type { NewEvent } from '../events/event.ts';
import type { ConversationStores } from './ports.ts';
import type { Conversation, ConversationStore } from './store.ts';

/** A conversation as a transaction leaves it; `wanted` when somebody is to be told to drive it. */
export interface Touched {
  key: number;
  id: string;
  status: ConversationStatus;
  wanted: boolean;
}

/** Appends what the user says, which has to be taken up: a stopped conversation is started. */
export async function say(
  { conversations, events }: ConversationStores,
  row: Conversation,
  event: NewEvent,
): Promise<Touched> {
  await events.append(row.key, [event]);
  const change = { ...awake(row), wanted: true, unfinished: true };
  await conversations.change(row.key, change);
  return { key: row.key, id: row.id, status: change.status ?? row.status, wanted: true };
}

/** Starts a stopped conversation, or one that failed; lets work go on that nobody does. */
export async function wake(conversations: ConversationStore, row: Conversation): Promise<Touched> {
  const change = awake(row);
  const wanted = change.status !== undefined || (row.unfinished && row.driver === null);
  if (wanted) await conversations.change(row.key, { ...change, wanted: true });
  return { key: row.key, id: row.id, status: change.status ?? row.status, wanted };
}

/** What changes on a row when it is to be driven again. A run that ended in error gets a new allowance. */
export function awake(row: Conversation): {
  status?: ConversationStatus;
  runtimeStatus?: null;
  error?: null;
  iterations?: number;
  budgetFrom?: number;
} {
  return {
    ...(row.status === 'STOPPED' || row.status === 'ERROR'
      ? { status: 'STARTING', runtimeStatus: null }
      : {}),
    ...(row.error ? { error: null } : {}),
    ...(row.agentState === 'error' ? { iterations: 0, budgetFrom: row.accumulatedCost } : {}),
  };
}

import type { ConversationStatus } from '../contract/conversations.ts';
import { ServiceError } from '../errors.ts';
import type { NewEvent } from '../events/event.ts';
import type { ConversationStores } from './ports.ts';
import type { Conversation, ConversationStore } from './store.ts';

/** How many conversations of one user may wait for their turn. */
const MAX_WAITING = 1_000;

/** A conversation as a transaction leaves it; `wanted` when somebody is to be told to drive it. */
export interface Touched {
  key: number;
  id: string;
  status: ConversationStatus;
  wanted: boolean;
}

/** Appends what the user says, which has to be taken up: a stopped conversation is started. @throws ServiceError queue_full */
export async function say(
  { conversations, events }: ConversationStores,
  row: Conversation,
  event: NewEvent,
): Promise<Touched> {
  await admitToLine(conversations, row);
  await events.append(row.key, [event]);
  const change = { ...awake(row), wanted: true, unfinished: true };
  await conversations.change(row.key, change);
  return { key: row.key, id: row.id, status: change.status ?? row.status, wanted: true };
}

/** Starts a stopped conversation, or one that failed; lets work go on that nobody does. @throws ServiceError queue_full */
export async function wake(conversations: ConversationStore, row: Conversation): Promise<Touched> {
  const change = awake(row);
  const wanted = change.status !== undefined || (row.unfinished && row.driver === null);
  if (wanted) {
    await admitToLine(conversations, row);
    await conversations.change(row.key, { ...change, wanted: true });
  }
  return { key: row.key, id: row.id, status: change.status ?? row.status, wanted };
}

/** Lets one more wait for its turn; what waits or is driven already takes no further place. @throws ServiceError queue_full */
export async function admitToLine(
  conversations: ConversationStore,
  { userId, wanted, driver }: Pick<Conversation, 'userId' | 'wanted' | 'driver'>,
): Promise<void> {
  if (wanted || driver !== null || (await conversations.countWaiting(userId)) < MAX_WAITING) return;
  throw new ServiceError(
    'queue_full',
    `${MAX_WAITING} of your conversations wait for their turn. Stop some, or try again later.`,
    { retryAfter: 60 },
  );
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

import type { ConversationStatus } from '../contract/conversations.ts';
import { ServiceError } from '../errors.ts';
import { stateChanged } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { redactInTurns } from '../events/redact.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { ConversationPorts, ConversationStores } from './ports.ts';
import { requestIfThere, storedRequest } from './request.ts';
import type { Conversation, ConversationChange, ConversationStore } from './store.ts';

/** How many conversations of one user may wait for their turn. */
const MAX_WAITING = 1_000;

type Rows = Pick<ConversationStores, 'conversations' | 'events'>;

/** A conversation as a transaction leaves it; `wanted` when somebody is to be told to drive it. */
export interface Touched {
  key: number;
  id: string;
  status: ConversationStatus;
  wanted: boolean;
}

/** What a user says, ready to be stored. */
export interface Words {
  /** What the conversation was created to begin with, when it still waited for the agent; it comes before. */
  first: NewEvent | null;
  said: NewEvent;
}

/** Readies what the user says in a conversation, before the transaction that stores it: a long text takes a while. */
export async function wordsOf(
  ports: Pick<ConversationPorts, 'read' | 'vault' | 'opening'>,
  row: Conversation,
  event: NewEvent,
  redactor: TextRedactor,
): Promise<Words> {
  const said = await redactInTurns(event, redactor);
  const made = row.lastUserMessage < 0 ? await requestIfThere(ports, row) : null;
  const { message } = made ? ports.opening(row.id, storedRequest(made)) : { message: null };
  return { first: message && (await redactInTurns(message, redactor)), said };
}

/** Appends what the user says, which has to be taken up: a stopped conversation is started. @throws ServiceError queue_full */
export async function say(
  { conversations, events }: Rows,
  row: Conversation,
  { first, said }: Words,
): Promise<Touched> {
  await admitToLine(conversations, row);
  const status = await rouse({ conversations, events }, row, { wanted: true, unfinished: true });
  // Somebody who spoke meanwhile has had it written before.
  await events.append(row.key, first && row.lastUserMessage < 0 ? [first, said] : [said]);
  return { key: row.key, id: row.id, status, wanted: true };
}

/** Starts a stopped conversation, or one that failed; lets work go on that nobody does. @throws ServiceError queue_full */
export async function wake(stores: Rows, row: Conversation): Promise<Touched> {
  // Whoever drives while it is in an error does what its user has asked for, and not what the agent has left.
  const idle = row.driver === null || row.error !== null;
  const wanted = awake(row).status !== undefined || (row.unfinished && idle);
  if (wanted) await admitToLine(stores.conversations, row);
  const status = wanted ? await rouse(stores, row, { wanted: true }) : row.status;
  return { key: row.key, id: row.id, status, wanted };
}

/**
 * Readies a row to be driven again, and gives its status then. What was stopped, or could not start, is `loading`
 * first, as a new one is. @throws Fenced, ConversationGone
 */
export async function rouse(
  { conversations, events }: Rows,
  row: Conversation,
  more: ConversationChange,
  generation?: number,
): Promise<ConversationStatus> {
  const change = awake(row);
  if (change.status) await events.append(row.key, [stateChanged('loading')], generation);
  await conversations.change(row.key, { ...change, ...more }, generation);
  return change.status ?? row.status;
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
function awake(row: Conversation): {
  status?: ConversationStatus;
  runtimeStatus?: null;
  error?: null;
  iterationsFrom?: number;
  budgetFrom?: number;
} {
  return {
    ...(row.status === 'STOPPED' || row.status === 'ERROR'
      ? { status: 'STARTING', runtimeStatus: null }
      : {}),
    ...(row.error ? { error: null } : {}),
    ...(row.agentState === 'error'
      ? { iterationsFrom: row.iterations, budgetFrom: row.accumulatedCost }
      : {}),
  };
}

import { ServiceError } from '../errors.ts';
import { stateChanged } from '../events/build.ts';
import type { Event, NewEvent } from '../events/event.ts';
import { decided, isActionEvent, rejection } from '../security/confirmation.ts';
import type { ConversationPorts, ConversationStores } from './ports.ts';
import type { OpenActionStore } from './open-actions.ts';
import { rouse } from './waking.ts';

interface Decision {
  state: 'user_confirmed' | 'user_rejected';
  /** Why it was rejected, for the agent; "" for no reason. */
  reason: string;
  /** What the user asked, as an event. */
  asked: NewEvent;
}

/**
 * Answers the action that waits for its user. It is written once more with the decision; that second one is carried out
 * by a run, or answered here as rejected, and the first is closed in the same transaction.
 * @throws ServiceError conflict when nothing waits
 */
export async function decide(ports: ConversationPorts, key: number, decision: Decision): Promise<void> {
  const { drivers, read, transact } = ports;
  if ((await awaitingAction(read.openActions, key)) === null) throw nothingAwaits(decision);
  if (decision.state === 'user_confirmed') await ports.admitWork();
  const { fenced, userId } = await transact(async (stores) => {
    const { conversations } = stores;
    const waits = await awaitingAction(stores.openActions, key);
    const row = await conversations.get(key);
    if (!row || waits === null) throw nothingAwaits(decision);
    // The run that asked may not have ended yet, and would take back what is wanted here. It has nothing else to do.
    const generation = await conversations.fence(key);
    await answer(stores, { key, waits }, decision);
    await rouse(stores, row, { wanted: true, unfinished: true });
    return { fenced: generation, userId: row.userId };
  });
  await drivers.interrupt(key, fenced);
  drivers.offer({ key, userId });
}

async function answer(
  { openActions, events }: ConversationStores,
  { key, waits }: { key: number; waits: number },
  { state, reason, asked }: Decision,
): Promise<void> {
  const [stored] = await events.read(key, { from: waits, limit: 1, maxBytes: Number.MAX_SAFE_INTEGER });
  const question = stored && (JSON.parse(stored.json) as Event);
  if (!isActionEvent(question)) throw new Error(`conversation ${key} has no action ${waits}`);
  const confirmed = state === 'user_confirmed';
  const again = decided(question, confirmed ? 'confirmed' : 'rejected');
  const written = await events.append(key, [asked, stateChanged(state), again]);
  const id = written.at(-1)?.id ?? waits;
  await openActions.close(key, [waits]);
  if (confirmed) await openActions.set(key, id, 'recorded');
  // The run that follows takes up what the user has said meanwhile; without it there is nothing to do.
  else await events.append(key, [...rejection(question, id, reason), stateChanged('awaiting_user_input')]);
}

/** The id of the action that waits for its user. */
async function awaitingAction(openActions: OpenActionStore, key: number): Promise<number | null> {
  const open = await openActions.of(key);
  return open.find(({ state }) => state === 'awaiting')?.eventId ?? null;
}

function nothingAwaits({ state }: Decision): ServiceError {
  return new ServiceError(
    'conflict',
    `The agent is not waiting for its user to decide: ${state} has nothing to answer.`,
  );
}

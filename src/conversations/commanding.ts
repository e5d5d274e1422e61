import { ServiceError } from '../errors.ts';
import type { NewEvent } from '../events/event.ts';
import { ConversationGone } from '../events/log.ts';
import type { ConversationPorts } from './ports.ts';
import type { Conversation } from './store.ts';
import { admitToLine } from './waking.ts';

/** How many actions of its user a conversation may have that are not begun. */
const MAX_ASKED = 100;

/**
 * Has an action of the user's done, a command in the agent's shell say: recorded at once, in its order, so that a crash
 * neither loses nor repeats it, and carried out between the steps of the agent, or by a run of its own while the agent
 * rests. The agent is not woken for it and stays in its state; it knows of it when it goes on.
 * @throws ServiceError conflict while the conversation is not started; queue_full; ConversationGone
 */
export async function runForUser(ports: ConversationPorts, key: number, action: NewEvent): Promise<void> {
  const wanted = await ports.transact(async ({ conversations, events, openActions }) => {
    const row = await conversations.get(key);
    mustBeStarted(row);
    const open = await openActions.of(key);
    if (open.filter(({ state }) => state === 'asked').length >= MAX_ASKED) throw tooMany();
    await admitToLine(conversations, row);
    const [written] = await events.append(key, [action]);
    if (!written) throw new Error(`conversation ${key} took no action`);
    await openActions.set(key, written.id, 'asked');
    // A run that is here finds it, at its end at the latest; the one that follows a decision does, too.
    if (row.driver !== null || open.some(({ state }) => state === 'awaiting')) return null;
    await conversations.change(key, { wanted: true });
    return row;
  });
  if (wanted) ports.drivers.offer({ key, userId: wanted.userId });
}

/**
 * Stores an action of the user that nobody waits for and nothing is done for.
 * @throws ServiceError conflict while the conversation is not started; ConversationGone
 */
export async function keepForUser(
  { transact }: ConversationPorts,
  key: number,
  action: NewEvent,
): Promise<void> {
  await transact(async ({ conversations, events }) => {
    mustBeStarted(await conversations.get(key));
    await events.append(key, [action]);
  });
}

/** @throws ServiceError conflict while the conversation is not started; ConversationGone */
export function mustBeStarted<C extends Pick<Conversation, 'status'>>(
  row: C | null | undefined,
): asserts row is C {
  if (!row) throw new ConversationGone('the conversation is not there');
  if (row.status === 'RUNNING' || row.status === 'STARTING') return;
  throw new ServiceError(
    'conflict',
    'The conversation is not started, so nothing can be done in it: start it, or send a message.',
  );
}

function tooMany(): ServiceError {
  return new ServiceError(
    'queue_full',
    `${MAX_ASKED} actions of yours wait in this conversation to be carried out. Wait until some are, or stop the agent.`,
    { retryAfter: 10 },
  );
}

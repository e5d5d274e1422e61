import type { ConversationStatus } from '../contract/conversations.ts';
import { stateChanged } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { notDone, STOPPED } from '../events/not-done.ts';
import type { OpenAction } from '../events/open-action.ts';
import type { ConversationPorts, ConversationStores } from './ports.ts';
import type { OpenActionStore } from './open-actions.ts';

/** Ends all that runs for a conversation, its sandbox included; log and workspace stay. Gives the status it had. */
export async function stop(ports: ConversationPorts, key: number): Promise<ConversationStatus> {
  await interrupt(ports, key);
  const { before, fenced } = await ports.transact(async (stores) => {
    const row = await stores.conversations.get(key);
    if (!row || row.status === 'STOPPED') return { before: 'STOPPED' as const, fenced: 0 };
    return { before: row.status, fenced: await setStopped(stores, key) };
  });
  await endBefore(ports, key, fenced);
  return before;
}

/** Stops a conversation that nobody has touched since `before`, and that has nothing to do even now. */
export async function stopIdle(ports: ConversationPorts, key: number, before: string): Promise<boolean> {
  const fenced = await ports.transact(async (stores) => {
    const row = await stores.conversations.get(key);
    const idle = row?.status === 'RUNNING' && row.driver === null && !row.wanted && row.updatedAt < before;
    return idle ? await setStopped(stores, key) : null;
  });
  if (fenced === null) return false;
  await endBefore(ports, key, fenced);
  return true;
}

/**
 * Ends the agent's run, and what it had to do; the sandbox and what runs in its background stay. Who pauses the agent
 * still has done what was asked for; who stops it or says that it is done, not.
 */
export async function halt(
  ports: ConversationPorts,
  key: number,
  state: 'paused' | 'stopped' | 'finished' | 'rejected',
  asked: NewEvent,
): Promise<void> {
  const { drivers, transact } = ports;
  await interrupt(ports, key);
  const { fenced, goesOn } = await transact(async ({ conversations, events, openActions }) => {
    const generation = await conversations.fence(key);
    const open = await openActions.of(key);
    const kept = state === 'paused' ? open.filter((one) => one.state === 'asked') : [];
    const ended = open.filter((one) => !kept.includes(one));
    await events.append(key, [asked, ...ended.map(leftUndone), stateChanged(state)]);
    await close(openActions, key, ended);
    const row = await conversations.get(key);
    // Only the agent was halted: a start that was under way goes on, or the conversation would wait for it for ever.
    const wanted = row?.status === 'STARTING' || kept.length > 0;
    await conversations.change(key, { unfinished: false, wanted });
    return { fenced: generation, goesOn: wanted ? row : null };
  });
  await drivers.interrupt(key, fenced);
  if (goesOn) drivers.offer({ key, userId: goesOn.userId });
}

/**
 * Ends the run that is here, so that what its command said until then is told, and has it wait for its turn no longer;
 * but not before something could be stored: a stop that is refused because the disk is full has stopped nothing.
 */
export async function interrupt({ drivers, transact }: ConversationPorts, key: number): Promise<void> {
  await transact(async ({ conversations }) => {
    const row = await conversations.get(key);
    if (row?.driver) await conversations.change(key, {});
  });
  // Before it is fenced: an offer that comes after that is of who starts it again.
  drivers.withdraw(key);
  await drivers.interrupt(key);
}

/** Sets it stopped, with an answer for everything that was open; gives the generation that fences what was before. */
async function setStopped(
  { conversations, events, openActions }: ConversationStores,
  key: number,
): Promise<number> {
  const generation = await conversations.fence(key);
  const open = await openActions.of(key);
  await events.append(key, [...open.map(leftUndone), stateChanged('stopped')]);
  await close(openActions, key, open);
  await conversations.change(key, { status: 'STOPPED', runtimeStatus: 'STATUS$STOPPED', error: null });
  return generation;
}

/** A run that was claimed between the interruption and the fence has nothing to write to any more. */
async function endBefore({ drivers }: ConversationPorts, key: number, fenced: number): Promise<void> {
  await drivers.interrupt(key, fenced);
  await drivers.release(key);
}

/** The answer of what a stop leaves undone: every action of the log gets one. */
function leftUndone({ eventId, state }: OpenAction): NewEvent {
  const reason =
    state === 'started'
      ? 'The conversation was stopped while this ran; what it had done by then stays.'
      : 'The conversation was stopped before this was begun.';
  return notDone(eventId, reason, STOPPED);
}

async function close(
  openActions: OpenActionStore,
  key: number,
  actions: readonly OpenAction[],
): Promise<void> {
  await openActions.close(
    key,
    actions.map(({ eventId }) => eventId),
  );
}

import { ServiceError } from '../errors.ts';
import type { AgentState, NewEvent } from '../events/event.ts';
import type { ConversationPorts } from './ports.ts';
import { admitToLine, rouse } from './waking.ts';

/** In these nothing is being done that a command could come between. */
const AT_REST: ReadonlySet<AgentState> = new Set<AgentState>(['awaiting_user_input', 'finished']);

/**
 * Has an action of the user's done, a command in the agent's shell say, by a run of its own: recorded as the agent's
 * are, so that a crash neither loses nor repeats it. After it the agent waits as before, and knows of it when it goes on.
 * @throws ServiceError conflict while the agent does not wait for its user; queue_full
 */
export async function runForUser(ports: ConversationPorts, key: number, action: NewEvent): Promise<void> {
  const { drivers, transact } = ports;
  const { fenced, userId } = await transact(async (stores) => {
    const { conversations, events, openActions } = stores;
    const row = await conversations.get(key);
    if (!row || row.status !== 'RUNNING' || !AT_REST.has(row.agentState)) throw notAtRest();
    await admitToLine(conversations, row);
    // The run that came to rest may not have ended yet, and would take back what is wanted here.
    const generation = await conversations.fence(key);
    const [written] = await events.append(key, [action]);
    if (!written) throw new Error(`conversation ${key} took no action`);
    await openActions.set(key, written.id, 'recorded');
    await rouse(stores, row, { wanted: true, unfinished: true });
    return { fenced: generation, userId: row.userId };
  });
  await drivers.interrupt(key, fenced);
  drivers.offer({ key, userId });
}

function notAtRest(): ServiceError {
  return new ServiceError(
    'conflict',
    'The agent does not wait for its user: this can be done once it does, or tell the agent by a message.',
  );
}

import { randomUUID } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import type { ConversationBody, ConversationStatus, ConversationView } from '../contract/conversations.ts';
import { ServiceError } from '../errors.ts';
import { action, errorObservation, stateChanged, userMessage } from '../events/build.ts';
import type { AgentState, NewEvent } from '../events/event.ts';
import type { EventLog, EventRange, StoredEvent } from '../events/log.ts';
import { redactEvent } from '../events/redact.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Transact } from '../transact.ts';
import { canonicalRequest, checkRequest, workplace } from './request.ts';
import type { Conversation, ConversationStore } from './store.ts';
import { viewOf } from './view.ts';

export interface ConversationStores {
  conversations: ConversationStore;
  events: EventLog;
}

/** What the service asks of whoever drives conversations. */
export interface Drivers {
  /** Somebody has to drive it; told after the transaction that wants it is on disk. */
  offer(hint: { key: number; userId: string }): void;
  /**
   * Ends the run that is here for a conversation, its command included; with a `generation`, only an older one.
   * Resolves when it has ended. Whoever interrupts fences the conversation next, or the run is taken up again.
   */
  interrupt(key: number, generation?: number): Promise<void>;
  /** Ends the sandbox, and all that runs in it. */
  release(key: number): Promise<void>;
  /** Removes the workspace of a conversation that is no more. */
  discard(key: number): Promise<void>;
}

/** Who watches conversations. */
export interface Watchers {
  watchers(conversation: number): number;
  /** Tells them what is not logged. */
  notify(
    conversation: number,
    status: { status_update: true; type: 'info'; message: string; conversation_title: string },
  ): void;
  end(conversation: number): void;
}

/** The words of a new conversation: its first events, and what it is called. */
export type Opening = (id: string, request: ConversationBody) => { title: string; events: NewEvent[] };

export interface ConversationServiceOptions {
  read: ConversationStores;
  transact: Transact<ConversationStores>;
  vault: Vault;
  drivers: Drivers;
  watchers: Watchers;
  opening: Opening;
  /** Gives a function that hides the user's secrets in what is stored. */
  redactor(userId: string): Promise<(text: string) => string>;
}

export interface ConversationReply {
  conversation_id: string;
  conversation_status: ConversationStatus;
}

/** How many conversations of one user may wait for their turn. */
const MAX_WAITING = 1_000;
/** Milliseconds an `Idempotency-Key` is kept. */
const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

/** Said of an action that a stop left without a result; V0's id, which its pages know. */
const NOT_EXECUTED = 'AGENT_ERROR$ERROR_ACTION_NOT_EXECUTED_STOPPED';

/** Create, join, start, stop, talk to, rename, delete: everything a user does to a conversation. */
export class ConversationService {
  readonly #options: ConversationServiceOptions;

  constructor(options: ConversationServiceOptions) {
    this.#options = options;
  }

  /**
   * Creates a conversation, or joins the one that has the id: an equal request appends nothing, another one appends
   * its message; either starts it when it is stopped. Durable when it resolves; the start is not awaited.
   * @throws ServiceError invalid_request, queue_full
   */
  async create(
    principal: Principal,
    body: ConversationBody,
    idempotencyKey?: string,
  ): Promise<ConversationReply> {
    checkRequest(body);
    const { vault, transact, opening } = this.#options;
    const { userId } = principal;
    const redact = await this.#options.redactor(userId);
    const request = canonicalRequest(body);
    const now = new Date();
    const created = await transact(async ({ conversations, events }) => {
      const repeated =
        idempotencyKey === undefined || body.conversation_id
          ? undefined
          : await conversations.idempotent(
              userId,
              idempotencyKey,
              new Date(now.getTime() - IDEMPOTENCY_MS).toISOString(),
            );
      const id = body.conversation_id || repeated || randomUUID().replaceAll('-', '');
      const known = await conversations.find(userId, id);
      if (known) {
        const stored = vault.open(await conversations.request(known.key), requestBinding(userId, id));
        const repetition = stored.unwrap() === request.unwrap();
        const message = repetition ? undefined : firstMessage(opening(id, body).events);
        if (message) return await this.#say({ conversations, events }, known, redactEvent(message, redact));
        return await this.#wake(conversations, known);
      }
      if ((await conversations.countWaiting(userId)) >= MAX_WAITING) throw queueFull();
      const { title, events: first } = opening(id, body);
      const { repository, provider, branch, trigger } = workplace(body);
      const key = await conversations.insert({
        id,
        userId,
        title: redact(title),
        trigger,
        selectedRepository: repository,
        selectedBranch: branch,
        gitProvider: provider,
        createdAt: now.toISOString(),
        unfinished: firstMessage(first) !== undefined || Boolean(body.replay_json),
        request: vault.seal(request, requestBinding(userId, id)),
      });
      await events.append(
        key,
        first.map((event) => redactEvent(event, redact)),
      );
      if (idempotencyKey !== undefined && !body.conversation_id) {
        await conversations.saveIdempotent(userId, idempotencyKey, id, now.toISOString());
      }
      return { key, id, status: 'STARTING' as ConversationStatus, wanted: true };
    });
    if (created.wanted) this.#options.drivers.offer({ key: created.key, userId });
    return { conversation_id: created.id, conversation_status: created.status };
  }

  async get(principal: Principal, id: string): Promise<ConversationView> {
    const row = await this.#find(principal, id);
    return viewOf(row, this.#options.watchers.watchers(row.key));
  }

  /** Newest first. `before`: the number the former page ended with. */
  async list(
    principal: Principal,
    filter: { before?: number; limit: number; repository?: string; trigger?: string },
  ): Promise<{ results: ConversationView[]; next: number | null }> {
    const { read, watchers } = this.#options;
    const rows = await read.conversations.list(principal.userId, { ...filter, limit: filter.limit + 1 });
    const page = rows.slice(0, filter.limit);
    return {
      results: page.map((row) => viewOf(row, watchers.watchers(row.key))),
      next: rows.length > page.length ? (page.at(-1)?.key ?? null) : null,
    };
  }

  async rename(principal: Principal, id: string, title: string): Promise<void> {
    const { key } = await this.#find(principal, id);
    await this.#options.transact(({ conversations }) => conversations.change(key, { title }));
    this.#options.watchers.notify(key, {
      status_update: true,
      type: 'info',
      message: id,
      conversation_title: title,
    });
  }

  /** Starts a stopped conversation, or tries again what failed; goes on with work that is not finished. */
  async start(principal: Principal, id: string): Promise<ConversationReply> {
    const { key } = await this.#find(principal, id);
    const started = await this.#options.transact(async ({ conversations }) => {
      const row = await conversations.get(key);
      if (!row) throw conversationNotFound(id);
      return await this.#wake(conversations, row);
    });
    if (started.wanted) this.#options.drivers.offer({ key, userId: principal.userId });
    return { conversation_id: id, conversation_status: started.status };
  }

  /** Ends what runs; the log and the workspace stay. Gives the status it had. */
  async stop(principal: Principal, id: string): Promise<ConversationStatus> {
    const row = await this.#find(principal, id);
    return await this.#stop(row.key);
  }

  /** Stops conversations that nobody has touched since `before`, at most `limit`; gives how many. */
  async stopIdle(before: Date, limit: number): Promise<number> {
    const keys = await this.#options.read.conversations.idle(before.toISOString(), limit);
    for (const key of keys) await this.#stop(key);
    return keys.length;
  }

  /** Stops it, then removes all of it, the workspace included. */
  async remove(principal: Principal, id: string): Promise<void> {
    const { key } = await this.#find(principal, id);
    const { drivers, transact, watchers } = this.#options;
    await drivers.interrupt(key);
    await transact(({ conversations }) => conversations.remove(key));
    watchers.end(key);
    await drivers.interrupt(key);
    await drivers.release(key);
    await drivers.discard(key);
    await transact(({ conversations }) => conversations.discarded(key));
  }

  /** A message of the user, taken up at the next step or by a new run. */
  async message(
    principal: Principal,
    id: string,
    message: { content: string; imageUrls?: readonly string[]; fileUrls?: readonly string[] | null },
  ): Promise<void> {
    const { key } = await this.#find(principal, id);
    const redact = await this.#options.redactor(principal.userId);
    const event = redactEvent(userMessage(message.content, message.imageUrls, message.fileUrls), redact);
    await this.#options.transact(async ({ conversations, events }) => {
      const row = await conversations.get(key);
      if (!row) throw conversationNotFound(id);
      await this.#say({ conversations, events }, row, event);
    });
    this.#options.drivers.offer({ key, userId: principal.userId });
  }

  /** `running` goes on; `stopped` and `paused` end the run and leave the sandbox. */
  async changeAgentState(principal: Principal, id: string, state: AgentState): Promise<void> {
    const { key } = await this.#find(principal, id);
    const asked = action('user', 'change_agent_state', `Agent state asked to be ${state}`, {
      agent_state: state,
      thought: '',
    });
    if (state === 'stopped' || state === 'paused') {
      await this.#options.drivers.interrupt(key);
      const fenced = await this.#options.transact(async ({ conversations, events }) => {
        const generation = await conversations.fence(key);
        await events.append(key, [asked, ...(await leftOpen(conversations, key)), stateChanged(state)]);
        await closeAll(conversations, key);
        await conversations.change(key, { unfinished: false });
        return generation;
      });
      await this.#options.drivers.interrupt(key, fenced);
      return;
    }
    if (state !== 'running') {
      throw new ServiceError(
        'conflict',
        `The agent is not waiting for its user to decide: ${state} has nothing to answer.`,
      );
    }
    await this.#options.transact(async ({ conversations, events }) => {
      const row = await conversations.get(key);
      if (!row) throw conversationNotFound(id);
      await events.append(key, [asked]);
      await conversations.change(key, { ...awake(row), wanted: true, unfinished: true });
    });
    this.#options.drivers.offer({ key, userId: principal.userId });
  }

  /** Kept for a conversation that may come later, as V0's orchestrators do it. */
  async saveExperiment(principal: Principal, id: string, config: unknown): Promise<void> {
    await this.#options.transact(({ conversations }) =>
      conversations.saveExperiment(principal.userId, id, JSON.stringify(config)),
    );
  }

  async events(principal: Principal, id: string, range: EventRange): Promise<StoredEvent[]> {
    const { key } = await this.#find(principal, id);
    return await this.#options.read.events.read(key, range);
  }

  /** The number that logs and watchers know the conversation by. */
  async keyOf(principal: Principal, id: string): Promise<number> {
    return (await this.#find(principal, id)).key;
  }

  /** Ends what a crash in the middle of {@link remove} has left. */
  async finishRemovals(): Promise<void> {
    for (const key of await this.#options.read.conversations.removed()) {
      await this.#options.drivers.discard(key);
      await this.#options.transact(({ conversations }) => conversations.discarded(key));
    }
  }

  async #find(principal: Principal, id: string): Promise<Conversation> {
    const row = await this.#options.read.conversations.find(principal.userId, id);
    if (!row) throw conversationNotFound(id);
    return row;
  }

  async #say(
    { conversations, events }: ConversationStores,
    row: Conversation,
    event: NewEvent,
  ): Promise<Touched> {
    await events.append(row.key, [event]);
    const change = { ...awake(row), wanted: true, unfinished: true };
    await conversations.change(row.key, change);
    return { key: row.key, id: row.id, status: change.status ?? row.status, wanted: true };
  }

  async #wake(conversations: ConversationStore, row: Conversation): Promise<Touched> {
    const change = awake(row);
    const wanted = change.status !== undefined || (row.unfinished && row.driver === null);
    if (wanted) await conversations.change(row.key, { ...change, wanted: true });
    return { key: row.key, id: row.id, status: change.status ?? row.status, wanted };
  }

  async #stop(key: number): Promise<ConversationStatus> {
    const { drivers, transact } = this.#options;
    await drivers.interrupt(key);
    const { before, fenced } = await transact(async ({ conversations, events }) => {
      const row = await conversations.get(key);
      if (!row || row.status === 'STOPPED') return { before: 'STOPPED' as const, fenced: 0 };
      const generation = await conversations.fence(key);
      await events.append(key, [...(await leftOpen(conversations, key)), stateChanged('stopped')]);
      await closeAll(conversations, key);
      await conversations.change(key, { status: 'STOPPED', runtimeStatus: 'STATUS$STOPPED', error: null });
      return { before: row.status, fenced: generation };
    });
    // A run that was claimed between the interruption and the fence has nothing to write to any more.
    await drivers.interrupt(key, fenced);
    await drivers.release(key);
    return before;
  }
}

interface Touched {
  key: number;
  id: string;
  status: ConversationStatus;
  wanted: boolean;
}

/** What changes on a row when it is to be driven again. A run that ended in error gets a new allowance. */
function awake(row: Conversation): {
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

/** The answers of what a stop leaves undone: every action of the log gets one. */
async function leftOpen(conversations: ConversationStore, key: number): Promise<NewEvent[]> {
  const open = await conversations.openActions(key);
  return open.map(({ eventId, state }) =>
    errorObservation(
      state === 'started'
        ? 'The conversation was stopped while this ran; what it had done by then stays.'
        : 'The conversation was stopped before this was begun.',
      NOT_EXECUTED,
      { cause: eventId },
    ),
  );
}

async function closeAll(conversations: ConversationStore, key: number): Promise<void> {
  const open = await conversations.openActions(key);
  await conversations.closeActions(
    key,
    open.map(({ eventId }) => eventId),
  );
}

function firstMessage(events: readonly NewEvent[]): NewEvent | undefined {
  return events.find((event) => 'action' in event && event.action === 'message' && event.source === 'user');
}

/** What a stored request is bound to. */
export function requestBinding(userId: string, id: string): readonly [string, string, string, string] {
  return ['conversations', userId, 'request', id];
}

export function conversationNotFound(id: string): ServiceError {
  return new ServiceError(
    'conversation_not_found',
    `There is no conversation ${JSON.stringify(id.slice(0, 120))}.`,
  );
}

function queueFull(): ServiceError {
  return new ServiceError(
    'queue_full',
    `${MAX_WAITING} of your conversations wait for their turn. Stop some, or try again later.`,
    { retryAfter: 60 },
  );
}

import type { Principal } from '../auth/principal.ts';
import type { ConversationBody, ConversationStatus, ConversationView } from '../contract/conversations.ts';
import type { AskedState } from '../contract/events.ts';
import { ServiceError } from '../errors.ts';
import { action, userMessage } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import type { EventRange, StoredEvent } from '../events/log.ts';
import { redactInTurns } from '../events/redact.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import { keepForUser, mustBeStarted, runForUser } from './commanding.ts';
import { type ConversationReply, createOrJoin } from './create.ts';
import { decide } from './deciding.ts';
import { OwnSecrets } from './own-secrets.ts';
import type { ConversationPorts } from './ports.ts';
import { Removals } from './removing.ts';
import { halt, stop, stopIdle } from './stopping.ts';
import type { Conversation } from './store.ts';
import { viewOf } from './view.ts';
import { admitToLine, rouse, say, wake, wordsOf } from './waking.ts';

/** Create, join, start, stop, talk to, rename, delete: everything a user does to a conversation. */
export class ConversationService {
  readonly #ports: ConversationPorts;
  readonly #removals: Removals;
  readonly #ownSecrets: OwnSecrets;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
    this.#removals = new Removals(ports);
    this.#ownSecrets = new OwnSecrets(ports);
  }

  /** {@link createOrJoin} */
  async create(
    { userId }: Principal,
    body: ConversationBody,
    idempotencyKey?: string,
  ): Promise<ConversationReply> {
    return await createOrJoin(this.#ports, userId, body, idempotencyKey);
  }

  async get(principal: Principal, id: string): Promise<ConversationView> {
    const row = await this.#find(principal, id);
    return viewOf(row, this.#ports.watchers.watchers(row.key));
  }

  /** Newest first. `before`: the number the former page ended with. */
  async list(
    principal: Principal,
    filter: { before?: number; limit: number; repository?: string; trigger?: string },
  ): Promise<{ results: ConversationView[]; next: number | null }> {
    const { read, watchers } = this.#ports;
    const rows = await read.conversations.list(principal.userId, { ...filter, limit: filter.limit + 1 });
    const page = rows.slice(0, filter.limit);
    return {
      results: page.map((row) => viewOf(row, watchers.watchers(row.key))),
      next: rows.length > page.length ? (page.at(-1)?.key ?? null) : null,
    };
  }

  async rename(principal: Principal, id: string, title: string): Promise<void> {
    const row = await this.#find(principal, id);
    const { key } = row;
    const { redact } = await this.#redactor(row);
    const shown = redact(title);
    await this.#ports.transact(({ conversations }) => conversations.change(key, { title: shown }));
    this.#ports.watchers.notify(key, {
      status_update: true,
      type: 'info',
      message: id,
      conversation_title: shown,
    });
  }

  /** Starts a stopped conversation, or tries again what failed; goes on with work that is not finished. */
  async start(principal: Principal, id: string): Promise<ConversationReply> {
    const { key } = await this.#find(principal, id);
    await this.#ports.admitWork();
    const started = await this.#ports.transact(async (stores) => {
      const row = await stores.conversations.get(key);
      if (!row) throw conversationNotFound(id);
      return await wake(stores, row);
    });
    if (started.wanted) this.#ports.drivers.offer({ key, userId: principal.userId });
    return { conversation_id: id, conversation_status: started.status };
  }

  /** Ends what runs; the log and the workspace stay. Gives the status it had. */
  async stop(principal: Principal, id: string): Promise<ConversationStatus> {
    const row = await this.#find(principal, id);
    return await stop(this.#ports, row.key);
  }

  /** Stops conversations that nobody has touched since `before`, at most `limit`; gives how many. */
  async stopIdle(before: Date, limit: number): Promise<number> {
    const keys = await this.#ports.read.conversations.idle(before.toISOString(), limit);
    let stopped = 0;
    for (const key of keys) if (await stopIdle(this.#ports, key, before.toISOString())) stopped += 1;
    return stopped;
  }

  /** Stops it, then removes all of it, the workspace included. */
  async remove(principal: Principal, id: string): Promise<void> {
    await this.#removals.remove(principal, await this.#find(principal, id));
  }

  /** A message of the user, taken up at the next step or by a new run. */
  async message(
    principal: Principal,
    id: string,
    message: { content: string; imageUrls?: readonly string[]; fileUrls?: readonly string[] | null },
  ): Promise<void> {
    const conversation = await this.#find(principal, id);
    const { key, driver } = conversation;
    // What runs is told; what would have to be begun for it is not.
    if (driver === null) await this.#ports.admitWork();
    const event = userMessage(message.content, message.imageUrls, message.fileUrls);
    const words = await wordsOf(this.#ports, conversation, event, await this.#redactor(conversation));
    await this.#ports.transact(async ({ conversations, events }) => {
      const row = await conversations.get(key);
      if (!row) throw conversationNotFound(id);
      await say({ conversations, events }, row, words);
    });
    this.#ports.drivers.offer({ key, userId: principal.userId });
  }

  /**
   * `running` goes on; `stopped` and `paused` end the run and leave the sandbox; `user_confirmed` and `user_rejected`
   * answer the action that waits for it. `thought`: why, for the agent.
   */
  async changeAgentState(principal: Principal, id: string, state: AskedState, thought = ''): Promise<void> {
    const conversation = await this.#find(principal, id);
    const { key } = conversation;
    const reason = thought === '' ? '' : (await this.#redactor(conversation)).redact(thought);
    const asked = action('user', 'change_agent_state', `Agent state asked to be ${state}`, {
      agent_state: state,
      thought: reason,
    });
    if (state === 'stopped' || state === 'paused') return await halt(this.#ports, key, state, asked);
    if (state !== 'running') return await decide(this.#ports, key, { state, reason, asked });
    await this.#ports.admitWork();
    await this.#ports.transact(async ({ conversations, events }) => {
      const row = await conversations.get(key);
      if (!row) throw conversationNotFound(id);
      await admitToLine(conversations, row);
      await events.append(key, [asked]);
      await rouse({ conversations, events }, row, { wanted: true, unfinished: true });
    });
    this.#ports.drivers.offer({ key, userId: principal.userId });
  }

  /** A command of the user's own for the agent's shell, or another action. {@link runForUser} */
  async run(principal: Principal, id: string, action: NewEvent): Promise<void> {
    const conversation = await this.#find(principal, id);
    await this.#ports.admitWork();
    const event = await redactInTurns(action, await this.#redactor(conversation));
    await runForUser(this.#ports, conversation.key, event);
  }

  /** What an action of the agent's tools says, for the user. @throws ServiceError invalid_request, and as {@link run} */
  async runTool(
    principal: Principal,
    id: string,
    name: string,
    args: Record<string, unknown>,
  ): Promise<void> {
    const understood = await this.#ports.userAction(name, args);
    if (!understood.ok) {
      const error = { loc: ['body', 'args'], msg: understood.problem, type: 'value_error' };
      throw new ServiceError('invalid_request', `args: ${understood.problem}`, { errors: [error] });
    }
    await this.run(principal, id, understood.action);
  }

  /** Stores an action of the user that nothing is done for. @throws ServiceError as {@link run} */
  async keep(principal: Principal, id: string, action: NewEvent): Promise<void> {
    const conversation = await this.#find(principal, id);
    await this.#ports.admitWork();
    const event = await redactInTurns(action, await this.#redactor(conversation));
    await keepForUser(this.#ports, conversation.key, event);
  }

  /**
   * Ends the agent's work as its own word would; what it had to do is left. As a stop, also on a disk that is almost full.
   * @throws ServiceError conflict while the conversation is not started
   */
  async end(
    principal: Principal,
    id: string,
    state: 'finished' | 'rejected',
    action: NewEvent,
  ): Promise<void> {
    const conversation = await this.#find(principal, id);
    mustBeStarted(conversation);
    const event = await redactInTurns(action, await this.#redactor(conversation));
    await halt(this.#ports, conversation.key, state, event);
  }

  /** Kept for a conversation that may come later, as V0's orchestrators do it. */
  async saveExperiment(principal: Principal, id: string, config: unknown): Promise<void> {
    await this.#ports.transact(({ experiments }) =>
      experiments.save(principal.userId, id, JSON.stringify(config)),
    );
  }

  async events(principal: Principal, id: string, range: EventRange): Promise<StoredEvent[]> {
    const { key } = await this.#find(principal, id);
    return await this.#ports.read.events.read(key, range);
  }

  /** The number that logs and watchers know the conversation by. */
  async keyOf(principal: Principal, id: string): Promise<number> {
    return (await this.#find(principal, id)).key;
  }

  /** {@link Removals.finish} */
  async finishRemovals(): Promise<void> {
    await this.#removals.finish();
  }

  /** Stops the conversations of users who were disabled. */
  async stopDisabled(): Promise<void> {
    for (const key of await this.#ports.read.conversations.ofDisabledUsers()) await stop(this.#ports, key);
  }

  async #redactor(row: Conversation): Promise<TextRedactor> {
    return await this.#ports.redactor(row.userId, await this.#ownSecrets.of(row));
  }

  async #find(principal: Principal, id: string): Promise<Conversation> {
    const row = await this.#ports.read.conversations.find(principal.userId, id);
    if (!row) throw conversationNotFound(id);
    return row;
  }
}

export function conversationNotFound(id: string): ServiceError {
  return new ServiceError(
    'conversation_not_found',
    `There is no conversation ${JSON.stringify(id.slice(0, 120))}.`,
  );
}

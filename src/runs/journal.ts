import type { Answered, Journal, StepRecord } from '../agent/journal.ts';
import type { ProviderWrite } from '../agent/tools/provider/hosted.ts';
import type { AuditFact, AuditStore } from '../audit/audit.ts';
import type { OpenActionStore } from '../conversations/open-actions.ts';
import type { Conversation, ConversationStore } from '../conversations/store.ts';
import { type Event, type NewEvent, isAction } from '../events/event.ts';
import { type EventLog, Fenced } from '../events/log.ts';
import type { OpenActionState } from '../events/open-action.ts';
import { redactInTurns } from '../events/redact.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Transact } from '../transact.ts';

interface JournalStores {
  conversations: ConversationStore;
  events: EventLog;
  openActions: OpenActionStore;
  audit: AuditStore;
}

export interface JournalOptions {
  conversation: number;
  generation: number;
  read: Pick<JournalStores, 'conversations' | 'events' | 'openActions'>;
  transact: Transact<JournalStores>;
  /** Hides every secret of the conversation's user. */
  redactor: TextRedactor;
}

/** What one read of the log brings at most. */
const READ_BYTES = 8 * 1024 * 1024;

/** {@link Journal} of one run: each write one transaction, fenced by the run's generation, redacted before it. */
export class RunJournal implements Journal {
  readonly #options: JournalOptions;
  #seen = -1;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** The newest message of the user that the agent was given: the run may end only when there is none after it. */
  get seen(): number {
    return this.#seen;
  }

  async append(events: readonly NewEvent[], settled: readonly number[] = []): Promise<Event[]> {
    const redacted = await this.#redacted(events);
    return await this.#write(async (stores) => {
      const appended = await this.#append(stores.events, redacted);
      if (settled.length > 0) await this.#setAside(stores, settled, {});
      return appended;
    });
  }

  /**
   * Begins the log of the agent: its introduction, if it has one, then what the user says first, if that is not there
   * yet. Gives the id of that message; -1 when it was not written.
   */
  async begin(introduction: NewEvent | null, message: NewEvent | null): Promise<number> {
    const introduced = await this.#redacted(introduction ? [introduction] : []);
    const said = await this.#redacted(message ? [message] : []);
    return await this.#write(async ({ conversations, events: log }) => {
      const row = await conversations.get(this.#options.conversation);
      // Somebody who spoke meanwhile has had it written before.
      const first = row && row.lastUserMessage < 0 ? said : [];
      const written = await this.#append(log, [...introduced, ...first]);
      return first.length > 0 ? (written.at(-1)?.id ?? -1) : -1;
    });
  }

  reserve(call: number, dollars: number): Promise<void> {
    return this.#write((stores) => this.#setAside(stores, [call], dollars > 0 ? { [call]: dollars } : {}));
  }

  async recordStep(events: readonly NewEvent[], step: StepRecord): Promise<Event[]> {
    const { conversation, generation } = this.#options;
    const redacted = await this.#redacted(events);
    const answers: Answered[] = [];
    for (const { to, event } of step.answers ?? []) {
      if (!redacted[to]) throw new RangeError(`step has no event ${to}`);
      answers.push({ to, event: await redactInTurns(event, this.#options.redactor) });
    }
    return await this.#write(async (stores) => {
      const { events: log, conversations, openActions } = stores;
      // Both at once: the head of the log is read and written once.
      const answered = (first: number) => answers.map(({ to, event }) => ({ ...event, cause: first + to }));
      const appended = await log.append(
        conversation,
        (first) => [...redacted, ...answered(first)],
        generation,
      );
      for (const index of step.open) {
        const event = appended[index];
        if (!event) throw new RangeError(`step has no event ${index}`);
        await openActions.set(conversation, event.id, stateOf(index, step));
      }
      await conversations.change(conversation, { iterations: step.iterations }, generation);
      if (step.settled?.length) await this.#setAside(stores, step.settled, {});
      return appended;
    });
  }

  start(eventId: number): Promise<void> {
    const { conversation, generation } = this.#options;
    return this.#write(async ({ conversations, openActions }) => {
      const row = await conversations.get(conversation);
      if (row?.generation !== generation) throw new Fenced(`generation ${generation} no longer drives`);
      await openActions.set(conversation, eventId, 'started');
    });
  }

  async answer(observations: readonly NewEvent[], writes: readonly ProviderWrite[] = []): Promise<Event[]> {
    const causes = observations.flatMap((event) =>
      'observation' in event && event.cause !== undefined ? [event.cause] : [],
    );
    const redacted = await this.#redacted(observations);
    return await this.#write(async ({ events: log, conversations, openActions, audit }) => {
      const appended = await this.#append(log, redacted);
      await openActions.close(this.#options.conversation, causes);
      if (writes.length > 0) await audit.add(await this.#facts(conversations, writes));
      return appended;
    });
  }

  openActions(): ReturnType<Journal['openActions']> {
    return this.#options.read.openActions.of(this.#options.conversation);
  }

  async read(from: number, limit: number): Promise<Event[]> {
    const { read, conversation } = this.#options;
    const stored = await read.events.read(conversation, { from, limit, maxBytes: READ_BYTES });
    const events = stored.map(({ json }) => JSON.parse(json) as Event);
    for (const event of events) {
      if (isAction(event, 'message') && event.source === 'user') this.#seen = Math.max(this.#seen, event.id);
    }
    return events;
  }

  async lastUserMessage(): Promise<number> {
    return await this.#options.read.conversations.lastUserMessage(this.#options.conversation);
  }

  async #facts(conversations: ConversationStore, writes: readonly ProviderWrite[]): Promise<AuditFact[]> {
    const { conversation, redactor } = this.#options;
    const row = await conversations.get(conversation);
    if (!row) return [];
    return writes.map(({ url, ...write }) => ({
      action: 'provider.write',
      userId: row.userId,
      actor: 'agent',
      subject: row.id,
      detail: { ...write, url: url === null ? null : redactor.redact(url) },
    }));
  }

  #append(log: EventLog, events: readonly NewEvent[]): Promise<Event[]> {
    const { conversation, generation } = this.#options;
    return log.append(conversation, events, generation);
  }

  /** Before the transaction: others wait for that. */
  async #redacted(events: readonly NewEvent[]): Promise<NewEvent[]> {
    const redacted: NewEvent[] = [];
    for (const event of events) redacted.push(await redactInTurns(event, this.#options.redactor));
    return redacted;
  }

  /** Sets aside what `more` says, and no longer what was for the calls of `gone`. */
  async #setAside(
    { conversations }: JournalStores,
    gone: readonly number[],
    more: Conversation['reserved'],
  ): Promise<void> {
    const { conversation, generation } = this.#options;
    const row = await conversations.get(conversation);
    const kept = Object.entries(row?.reserved ?? {}).filter(([call]) => !gone.includes(Number(call)));
    await conversations.change(
      conversation,
      { reserved: { ...Object.fromEntries(kept), ...more } },
      generation,
    );
  }

  #write<T>(work: (stores: JournalStores) => Promise<T>): Promise<T> {
    return this.#options.transact(work);
  }
}

function stateOf(index: number, { started, awaiting }: StepRecord): OpenActionState {
  if (index === awaiting) return 'awaiting';
  return index === started ? 'started' : 'recorded';
}

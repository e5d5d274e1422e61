import type { Kysely, Selectable } from 'kysely';
import type { Event } from '../../events/event.ts';
import {
  ConversationGone,
  type EventLog,
  type EventRange,
  type EventsToAppend,
  Fenced,
  type StoredEvent,
} from '../../events/log.ts';
import { project, type Projection } from '../../events/projection.ts';
import type { AgentState } from '../../events/event.ts';
import { prepared, type Value } from '../prepared.ts';
import type { Schema } from '../schema.ts';

/** Told of every append inside the transaction; published after the commit. */
export type Appended = (conversation: number, events: readonly StoredEvent[]) => void;

/** Stores events of a conversation whose row says what they make of it, in the same transaction. */
export type StoreEvents = (conversation: number, events: readonly StoredEvent[]) => Promise<void>;

export function storeEvents(db: Kysely<Schema>, appended: Appended): StoreEvents {
  const insert = prepared(db, (value: Value<Schema['events']>) =>
    db
      .insertInto('events')
      .values({ conversation: value('conversation'), id: value('id'), body: value('body') }),
  );
  return async (conversation, events) => {
    if (events.length === 0) return;
    for (const { id, json } of events) await insert({ conversation, id, body: json });
    appended(conversation, events);
  };
}

export class SqlEventLog implements EventLog {
  readonly #store: StoreEvents;
  readonly #head;
  readonly #advance;
  readonly #pages;

  constructor(db: Kysely<Schema>, store: StoreEvents) {
    this.#store = store;
    this.#head = prepared(db, (value: Value<{ key: number }>) =>
      db
        .selectFrom('conversations')
        .select([
          'generation',
          'last_event_id',
          'agent_state',
          'accumulated_cost',
          'prompt_tokens',
          'completion_tokens',
          'last_user_message',
          'condensation',
        ])
        .where('key', '=', value('key')),
    );
    this.#advance = prepared(db, (value: Value<Head>) =>
      db
        .updateTable('conversations')
        .set({
          last_event_id: value('last_event_id'),
          updated_at: value('updated_at'),
          agent_state: value('agent_state'),
          accumulated_cost: value('accumulated_cost'),
          prompt_tokens: value('prompt_tokens'),
          completion_tokens: value('completion_tokens'),
          last_user_message: value('last_user_message'),
          condensation: value('condensation'),
        })
        .where('key', '=', value('key')),
    );
    this.#pages = { asc: pagesOf(db, 'asc'), desc: pagesOf(db, 'desc') };
  }

  async append(
    conversation: number,
    given: EventsToAppend | ((first: number) => EventsToAppend),
    generation?: number,
  ): Promise<Event[]> {
    const [row] = (await this.#head({ key: conversation })).rows;
    if (!row) throw new ConversationGone(`conversation ${conversation} is not there`);
    if (generation !== undefined && row.generation !== generation) {
      throw new Fenced(`generation ${generation} no longer drives conversation ${conversation}`);
    }
    const first = row.last_event_id + 1;
    const events = typeof given === 'function' ? given(first) : given;
    if (events.length === 0) return [];
    const now = new Date().toISOString();
    const { appended, stored, projection } = numbered(events, first, now, {
      agentState: row.agent_state as AgentState,
      accumulatedCost: row.accumulated_cost,
      promptTokens: row.prompt_tokens,
      completionTokens: row.completion_tokens,
      lastUserMessage: row.last_user_message,
      condensation: row.condensation,
    });
    await this.#store(conversation, stored);
    await this.#advance({
      key: conversation,
      last_event_id: row.last_event_id + appended.length,
      updated_at: now,
      agent_state: projection.agentState,
      accumulated_cost: projection.accumulatedCost,
      prompt_tokens: projection.promptTokens,
      completion_tokens: projection.completionTokens,
      last_user_message: projection.lastUserMessage,
      condensation: projection.condensation,
    });
    return appended;
  }

  async read(conversation: number, range: EventRange): Promise<StoredEvent[]> {
    const { lengths, bodies } = this.#pages[range.reverse === true ? 'desc' : 'asc'];
    const within = { conversation, from: range.from, to: range.to ?? Number.MAX_SAFE_INTEGER };
    // Lengths first: they are read without the bodies, which may be megabytes each.
    const { rows } = await lengths({ ...within, limit: range.limit });
    const fitting = countFitting(rows, range.maxBytes);
    if (fitting === 0) return [];
    const page = await bodies({ ...within, limit: fitting });
    return page.rows.map(({ id, body }) => ({ id, json: body }));
  }
}

/**
 * Events with their ids, from `first` on, as they are stored, and the projection after them.
 * @param at when they happen, but for those that bring their own time
 */
export function numbered(
  events: EventsToAppend,
  first: number,
  at: string,
  before: Projection,
): { appended: Event[]; stored: StoredEvent[]; projection: Projection } {
  const timestamp = `${at.slice(0, -1)}000`;
  const appended = events.map((event, n): Event => ({ id: first + n, timestamp, ...event }));
  return {
    appended,
    stored: appended.map((event) => ({ id: event.id, json: JSON.stringify(event) })),
    projection: appended.reduce(project, before),
  };
}

/** What an append changes of a conversation. */
type Head = Pick<
  Selectable<Schema['conversations']>,
  | 'key'
  | 'last_event_id'
  | 'updated_at'
  | 'agent_state'
  | 'accumulated_cost'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'last_user_message'
  | 'condensation'
>;

type Range = { conversation: number; from: number; to: number; limit: number };

function pagesOf(db: Kysely<Schema>, direction: 'asc' | 'desc') {
  const inRange = (value: Value<Range>) =>
    db
      .selectFrom('events')
      .where('conversation', '=', value('conversation'))
      .where('id', '>=', value('from'))
      .where('id', '<=', value('to'))
      .orderBy('id', direction)
      .limit(value('limit'));
  return {
    lengths: prepared(db, (value: Value<Range>) =>
      inRange(value).select((e) => e.fn<number>('octet_length', ['body']).as('bytes')),
    ),
    bodies: prepared(db, (value: Value<Range>) => inRange(value).select(['id', 'body'])),
  };
}

/** How many rows make a page: at least one, then as many as stay within the bytes. */
function countFitting(rows: readonly { bytes: number }[], maxBytes: number): number {
  let bytes = 0;
  const over = rows.findIndex((row, index) => {
    bytes += row.bytes;
    return bytes > maxBytes && index > 0;
  });
  return over === -1 ? rows.length : over;
}

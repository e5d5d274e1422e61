import type { Kysely } from 'kysely';
import type { Event, NewEvent } from '../../events/event.ts';
import {
  ConversationGone,
  type EventLog,
  type EventRange,
  Fenced,
  type StoredEvent,
} from '../../events/log.ts';
import { project } from '../../events/projection.ts';
import type { AgentState } from '../../events/event.ts';
import type { Schema } from '../schema.ts';

/** Told of every append inside the transaction; published after the commit. */
export type Appended = (conversation: number, events: readonly StoredEvent[]) => void;

export class SqlEventLog implements EventLog {
  readonly #db: Kysely<Schema>;
  readonly #appended: Appended;

  constructor(db: Kysely<Schema>, appended: Appended) {
    this.#db = db;
    this.#appended = appended;
  }

  async append(
    conversation: number,
    events: readonly (NewEvent & { timestamp?: string })[],
    generation?: number,
  ): Promise<Event[]> {
    const row = await this.#db
      .selectFrom('conversations')
      .select([
        'generation',
        'last_event_id',
        'agent_state',
        'accumulated_cost',
        'prompt_tokens',
        'completion_tokens',
        'last_user_message',
      ])
      .where('key', '=', conversation)
      .executeTakeFirst();
    if (!row) throw new ConversationGone(`conversation ${conversation} is not there`);
    if (generation !== undefined && row.generation !== generation) {
      throw new Fenced(`generation ${generation} no longer drives conversation ${conversation}`);
    }
    if (events.length === 0) return [];
    const now = new Date().toISOString();
    const timestamp = `${now.slice(0, -1)}000`;
    let projection = {
      agentState: row.agent_state as AgentState,
      accumulatedCost: row.accumulated_cost,
      promptTokens: row.prompt_tokens,
      completionTokens: row.completion_tokens,
      lastUserMessage: row.last_user_message,
    };
    const appended: Event[] = [];
    const stored: StoredEvent[] = [];
    for (const event of events) {
      const numbered: Event = { id: row.last_event_id + 1 + appended.length, timestamp, ...event };
      projection = project(projection, numbered);
      appended.push(numbered);
      stored.push({ id: numbered.id, json: JSON.stringify(numbered) });
    }
    await this.#db
      .insertInto('events')
      .values(stored.map(({ id, json }) => ({ conversation, id, body: json })))
      .execute();
    await this.#db
      .updateTable('conversations')
      .set({
        last_event_id: row.last_event_id + appended.length,
        updated_at: now,
        agent_state: projection.agentState,
        accumulated_cost: projection.accumulatedCost,
        prompt_tokens: projection.promptTokens,
        completion_tokens: projection.completionTokens,
        last_user_message: projection.lastUserMessage,
      })
      .where('key', '=', conversation)
      .execute();
    this.#appended(conversation, stored);
    return appended;
  }

  async read(conversation: number, range: EventRange): Promise<StoredEvent[]> {
    const inRange = this.#db
      .selectFrom('events')
      .where('conversation', '=', conversation)
      .where('id', '>=', range.from)
      .where('id', '<=', range.to ?? Number.MAX_SAFE_INTEGER)
      .orderBy('id', range.reverse === true ? 'desc' : 'asc');
    // Lengths first: they are read without the bodies, which may be megabytes each.
    const lengths = await inRange
      .select(['id', (e) => e.fn<number>('octet_length', ['body']).as('bytes')])
      .limit(range.limit)
      .execute();
    const fitting = countFitting(lengths, range.maxBytes);
    const rows = fitting === 0 ? [] : await inRange.select(['id', 'body']).limit(fitting).execute();
    return rows.map(({ id, body }) => ({ id, json: body }));
  }
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

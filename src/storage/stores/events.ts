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

/** Rows read at once: a page is gathered in steps, so that 20,000 small events and 20 large ones both stay in bounds. */
const CHUNK_ROWS = 100;

/** Told of every append inside the transaction; published after the commit. */
export type Appended = (conversation: number, events: readonly StoredEvent[]) => void;

export class SqlEventLog implements EventLog {
  readonly #db: Kysely<Schema>;
  readonly #appended: Appended;

  constructor(db: Kysely<Schema>, appended: Appended) {
    this.#db = db;
    this.#appended = appended;
  }

  async append(conversation: number, events: readonly NewEvent[], generation?: number): Promise<Event[]> {
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
    const { reverse = false, limit, maxBytes } = range;
    const to = range.to ?? Number.MAX_SAFE_INTEGER;
    const page: StoredEvent[] = [];
    let bytes = 0;
    let { from } = range;
    let until = to;
    while (page.length < limit) {
      const wanted = Math.min(CHUNK_ROWS, limit - page.length);
      const rows = await this.#db
        .selectFrom('events')
        .select(['id', 'body'])
        .where('conversation', '=', conversation)
        .where('id', '>=', from)
        .where('id', '<=', until)
        .orderBy('id', reverse ? 'desc' : 'asc')
        .limit(wanted)
        .execute();
      for (const { id, body } of rows) {
        bytes += body.length;
        if (bytes > maxBytes && page.length > 0) return page;
        page.push({ id, json: body });
        if (reverse) until = id - 1;
        else from = id + 1;
      }
      if (rows.length < wanted) break;
    }
    return page;
  }
}

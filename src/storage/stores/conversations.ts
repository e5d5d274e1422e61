import { type Kysely, sql } from 'kysely';
import type {
  Conversation,
  ConversationChange,
  ConversationFilter,
  ConversationStore,
  NewConversation,
} from '../../conversations/store.ts';
import type { NewEvent } from '../../events/event.ts';
import { ConversationGone, Fenced } from '../../events/log.ts';
import type { OpenActionState } from '../../events/open-action.ts';
import { EMPTY_PROJECTION } from '../../events/projection.ts';
import type { Sealed } from '../../secrets/vault.ts';
import { prepared, type Value } from '../prepared.ts';
import type { Schema } from '../schema.ts';
import { COLUMNS, conversationOf, insertOf, updateOf } from './conversation-row.ts';
import { numbered, type StoreEvents } from './events.ts';

export class SqlConversationStore implements ConversationStore {
  readonly #db: Kysely<Schema>;
  readonly #storeEvents: StoreEvents;
  readonly #insert;
  readonly #find;
  readonly #get;
  readonly #lastUserMessage;
  readonly #request;
  readonly #update;
  readonly #countWaiting;

  constructor(db: Kysely<Schema>, storeEvents: StoreEvents) {
    this.#db = db;
    this.#storeEvents = storeEvents;
    this.#insert = insertOf(db);
    this.#find = prepared(db, (value: Value<{ userId: string; id: string }>) =>
      db
        .selectFrom('conversations')
        .select(COLUMNS)
        .where(sql`substr(id, -12)`, '=', sql`substr(${value('id')}, -12)`)
        .where('id', '=', value('id'))
        .where('user_id', '=', value('userId')),
    );
    this.#get = prepared(db, (value: Value<{ key: number }>) =>
      db.selectFrom('conversations').select(COLUMNS).where('key', '=', value('key')),
    );
    this.#lastUserMessage = prepared(db, (value: Value<{ key: number }>) =>
      db.selectFrom('conversations').select('last_user_message').where('key', '=', value('key')),
    );
    this.#request = prepared(db, (value: Value<{ key: number }>) =>
      db.selectFrom('conversations').select('request').where('key', '=', value('key')),
    );
    this.#update = updateOf(db);
    this.#countWaiting = prepared(db, (value: Value<{ userId: string }>) =>
      db.selectFrom('lines').select('waiting').where('user_id', '=', value('userId')),
    );
  }

  async insert(conversation: NewConversation, first: readonly NewEvent[] = []): Promise<number> {
    const { stored, projection } = numbered(first, 0, conversation.createdAt, EMPTY_PROJECTION);
    const { rows } = await this.#insert({
      id: conversation.id,
      user_id: conversation.userId,
      title: conversation.title,
      trigger_kind: conversation.trigger,
      selected_repository: conversation.selectedRepository,
      selected_branch: conversation.selectedBranch,
      git_provider: conversation.gitProvider,
      agent_state: projection.agentState,
      created_at: conversation.createdAt,
      last_event_id: stored.length - 1,
      last_user_message: projection.lastUserMessage,
      accumulated_cost: projection.accumulatedCost,
      prompt_tokens: projection.promptTokens,
      completion_tokens: projection.completionTokens,
      condensation: projection.condensation,
      unfinished: conversation.unfinished ? 1 : 0,
      request: conversation.request,
    });
    const [row] = rows;
    if (!row) throw new Error('an insert gave no key');
    await this.#storeEvents(row.key, stored);
    return row.key;
  }

  async find(userId: string, id: string): Promise<Conversation | undefined> {
    const [row] = (await this.#find({ userId, id })).rows;
    return row && conversationOf(row);
  }

  async get(key: number): Promise<Conversation | undefined> {
    const [row] = (await this.#get({ key })).rows;
    return row && conversationOf(row);
  }

  async lastUserMessage(key: number): Promise<number> {
    const [row] = (await this.#lastUserMessage({ key })).rows;
    return row?.last_user_message ?? -1;
  }

  async request(key: number): Promise<Sealed> {
    const [row] = (await this.#request({ key })).rows;
    if (!row) throw new ConversationGone(`conversation ${key} is not there`);
    return row.request as Sealed;
  }

  async list(userId: string, filter: ConversationFilter): Promise<Conversation[]> {
    let query = this.#db
      .selectFrom('conversations')
      .select(COLUMNS)
      .where('user_id', '=', userId)
      .orderBy('key', 'desc')
      .limit(filter.limit);
    if (filter.before !== undefined) query = query.where('key', '<', filter.before);
    if (filter.repository !== undefined) query = query.where('selected_repository', '=', filter.repository);
    if (filter.trigger !== undefined) query = query.where('trigger_kind', '=', filter.trigger);
    // The index of these is taken only for a query that names its condition. A repository's has fewer entries.
    if (filter.trigger !== undefined && filter.trigger !== BY_HAND && filter.repository === undefined) {
      query = query.where('trigger_kind', '<>', sql.lit(BY_HAND));
    }
    return (await query.execute()).map(conversationOf);
  }

  async change(key: number, change: ConversationChange, generation?: number): Promise<void> {
    const { numAffectedRows } = await this.#update(key, change, generation);
    if (numAffectedRows === 0n) throw await this.#missing(key);
  }

  async remove(key: number): Promise<void> {
    const { numDeletedRows } = await this.#db
      .deleteFrom('conversations')
      .where('key', '=', key)
      .executeTakeFirst();
    if (numDeletedRows === 0n) return;
    await this.#db.insertInto('removed_conversations').values({ key }).execute();
  }

  async removed(): Promise<number[]> {
    const rows = await this.#db.selectFrom('removed_conversations').select('key').orderBy('key').execute();
    return rows.map(({ key }) => key);
  }

  async discarded(key: number): Promise<void> {
    await this.#db.deleteFrom('removed_conversations').where('key', '=', key).execute();
  }

  async claim(key: number, driver: string): Promise<Conversation | undefined> {
    const row = await this.#db
      .updateTable('conversations')
      .set((e) => ({ driver, wanted: 0, generation: e('generation', '+', 1) }))
      .where('key', '=', key)
      .where('wanted', '=', 1)
      .where('driver', 'is', null)
      .returning(COLUMNS)
      .executeTakeFirst();
    return row && conversationOf(row);
  }

  async release(
    key: number,
    generation: number,
    end: { seen: number; unfinished: boolean },
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('conversations')
      .set({ driver: null, wanted: 0, turn: null, unfinished: end.unfinished ? 1 : 0 })
      .where('key', '=', key)
      .where('generation', '=', generation)
      .where('last_user_message', '<=', end.seen)
      .where((e) => {
        const open = (state: OpenActionState) =>
          e
            .selectFrom('open_actions')
            .select('event_id')
            .where('conversation', '=', key)
            .where('state', '=', state);
        return e.or([e.not(e.exists(open('asked'))), e.exists(open('awaiting'))]);
      })
      .executeTakeFirst();
    if (numUpdatedRows > 0n) return true;
    const row = await this.get(key);
    if (row?.generation === generation) return false;
    throw await this.#missing(key);
  }

  async fence(key: number): Promise<number> {
    const row = await this.#db
      .updateTable('conversations')
      .set((e) => ({ driver: null, wanted: 0, turn: null, generation: e('generation', '+', 1) }))
      .where('key', '=', key)
      .returning('generation')
      .executeTakeFirst();
    if (!row) throw new ConversationGone(`conversation ${key} is not there`);
    return row.generation;
  }

  async driven(): Promise<{ key: number; userId: string; generation: number }[]> {
    return await this.#db
      .selectFrom('conversations')
      .select(['key', 'user_id as userId', 'generation'])
      .where('driver', 'is not', null)
      .orderBy('key')
      .execute();
  }

  async requeue(key: number, generation: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('conversations')
      .set({ driver: null, wanted: 1 })
      .where('key', '=', key)
      .where('generation', '=', generation)
      .where('driver', 'is not', null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async waiting(): Promise<{ key: number; userId: string }[]> {
    return await this.#db
      .selectFrom('conversations')
      .select(['key', 'user_id as userId'])
      .where('turn', 'is not', null)
      .where('wanted', '=', 1)
      .where('driver', 'is', null)
      .orderBy('turn')
      .execute();
  }

  async countWaiting(userId: string): Promise<number> {
    return (await this.#countWaiting({ userId })).rows[0]?.waiting ?? 0;
  }

  async idle(before: string, limit: number): Promise<number[]> {
    const rows = await this.#db
      .selectFrom('conversations')
      .select('key')
      .where('status', '=', 'RUNNING')
      .where('updated_at', '<', before)
      .where('driver', 'is', null)
      .where('wanted', '=', ZERO)
      .orderBy('updated_at')
      .limit(limit)
      .execute();
    return rows.map(({ key }) => key);
  }

  async ofDisabledUsers(): Promise<number[]> {
    const users = await this.#db
      .selectFrom('users')
      .select('id')
      .where('disabled_at', 'is not', null)
      .execute();
    // There mostly are none. Asked in one query, SQLite would look at every conversation that is not stopped.
    if (users.length === 0) return [];
    const ids = users.map(({ id }) => id);
    const rows = await this.#db
      .selectFrom('conversations')
      .select('key')
      .where('user_id', 'in', ids)
      .where('status', 'in', ['STARTING', 'RUNNING'])
      .orderBy('key')
      .execute();
    return rows.map(({ key }) => key);
  }

  async untouched(before: string, after: number, limit: number): Promise<number[]> {
    const rows = await this.#db
      .selectFrom('conversations')
      .select('key')
      .where('status', '=', 'STOPPED')
      .where('updated_at', '<', before)
      .where('driver', 'is', null)
      .where('wanted', '=', ZERO)
      .where('key', '>', after)
      .orderBy('key')
      .limit(limit)
      .execute();
    return rows.map(({ key }) => key);
  }

  async #missing(key: number): Promise<Error> {
    return (await this.get(key))
      ? new Fenced(`conversation ${key} is driven by another generation`)
      : new ConversationGone(`conversation ${key} is not there`);
  }
}

/** The trigger of nearly all conversations. */
const BY_HAND = 'gui';

/** Written out, as the index of those that rest is taken only then. */
const ZERO = sql.lit(0);

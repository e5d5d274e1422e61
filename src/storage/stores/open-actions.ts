import type { Kysely } from 'kysely';
import type { OpenActionStore } from '../../conversations/open-actions.ts';
import type { OpenAction, OpenActionState } from '../../events/open-action.ts';
import { prepared, type Value } from '../prepared.ts';
import type { Schema } from '../schema.ts';

export class SqlOpenActionStore implements OpenActionStore {
  readonly #of;
  readonly #set;
  readonly #close;

  constructor(db: Kysely<Schema>) {
    this.#of = prepared(db, (value: Value<{ conversation: number }>) =>
      db
        .selectFrom('open_actions')
        .select(['event_id', 'state'])
        .where('conversation', '=', value('conversation'))
        .orderBy('event_id'),
    );
    this.#set = prepared(db, (value: Value<Schema['open_actions']>) =>
      db
        .insertInto('open_actions')
        .values({
          conversation: value('conversation'),
          event_id: value('event_id'),
          state: value('state'),
        })
        .onConflict((c) => c.columns(['conversation', 'event_id']).doUpdateSet({ state: value('state') })),
    );
    this.#close = prepared(db, (value: Value<Pick<Schema['open_actions'], 'conversation' | 'event_id'>>) =>
      db
        .deleteFrom('open_actions')
        .where('conversation', '=', value('conversation'))
        .where('event_id', '=', value('event_id')),
    );
  }

  async of(conversation: number): Promise<OpenAction[]> {
    const { rows } = await this.#of({ conversation });
    return rows.map(({ event_id, state }) => ({ eventId: event_id, state: state as OpenActionState }));
  }

  async set(conversation: number, eventId: number, state: OpenActionState): Promise<void> {
    await this.#set({ conversation, event_id: eventId, state });
  }

  async close(conversation: number, eventIds: readonly number[]): Promise<void> {
    for (const eventId of eventIds) await this.#close({ conversation, event_id: eventId });
  }
}

import type { Kysely } from 'kysely';
import type { Feedback, FeedbackEntry, FeedbackFilter, FeedbackStore } from '../../feedback/feedback.ts';
import { ConversationGone } from '../../events/log.ts';
import type { Schema } from '../schema.ts';

export class SqlFeedbackStore implements FeedbackStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async add(conversation: number, { polarity, permissions, email, version }: Feedback): Promise<number> {
    const at = new Date().toISOString();
    const row = await this.#db
      .insertInto('feedback')
      .columns(['conversation', 'at', 'last_event_id', 'polarity', 'permissions', 'email', 'version'])
      .expression((e) =>
        e
          .selectFrom('conversations')
          .select((c) => [
            'key',
            c.val(at).as('at'),
            'last_event_id',
            c.val(polarity).as('polarity'),
            c.val(permissions).as('permissions'),
            c.val(email).as('email'),
            c.val(version).as('version'),
          ])
          .where('key', '=', conversation),
      )
      .returning('id')
      .executeTakeFirst();
    if (!row) throw new ConversationGone(`conversation ${conversation} is not there`);
    return row.id;
  }

  async list({ since, after, limit }: FeedbackFilter): Promise<FeedbackEntry[]> {
    let query = this.#db
      .selectFrom('feedback')
      .innerJoin('conversations', 'conversations.key', 'feedback.conversation')
      .innerJoin('users', 'users.id', 'conversations.user_id')
      .selectAll('feedback')
      .select(['conversations.id as conversation_id', 'users.name as user_name'])
      .orderBy('feedback.id')
      .limit(limit);
    if (since !== undefined) query = query.where('at', '>=', since);
    if (after !== undefined) query = query.where('feedback.id', '>', after);
    return (await query.execute()).map((row) => ({
      id: row.id,
      at: row.at,
      user: row.user_name,
      conversation: row.conversation_id,
      lastEventId: row.last_event_id,
      // Written by add() above, and by nobody else.
      polarity: row.polarity as Feedback['polarity'],
      permissions: row.permissions as Feedback['permissions'],
      email: row.email,
      version: row.version,
    }));
  }
}

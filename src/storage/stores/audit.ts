import type { CompiledQuery, Kysely, Selectable } from 'kysely';
import type { AuditAction, AuditEntry, AuditFact, AuditFilter, AuditStore } from '../../audit/audit.ts';
import type { Schema } from '../schema.ts';

const COLUMNS = ['id', 'at', 'action', 'user_id', 'user_name', 'actor', 'subject', 'detail'] as const;

type Row = Selectable<Schema['audit']>;

export class SqlAuditStore implements AuditStore {
  readonly #db: Kysely<Schema>;
  readonly #add: CompiledQuery<Row>;
  readonly #noted: (entry: AuditEntry) => void;

  /** @param noted told of each entry inside the transaction */
  constructor(db: Kysely<Schema>, noted: (entry: AuditEntry) => void) {
    this.#db = db;
    this.#noted = noted;
    this.#add = db
      .insertInto('audit')
      .values((e) => ({
        at: '',
        action: '',
        user_id: '',
        user_name: e.selectFrom('users').select('name').where('id', '=', ''),
        actor: '',
        subject: '',
        detail: '',
      }))
      .returning(COLUMNS)
      .compile();
  }

  async add(facts: readonly AuditFact[]): Promise<void> {
    const at = new Date().toISOString();
    for (const { action, userId, actor, subject, detail = {} } of facts) {
      const parameters = [at, action, userId, userId, actor, subject, JSON.stringify(detail)];
      const { rows } = await this.#db.executeQuery<Row>({ ...this.#add, parameters });
      for (const row of rows) this.#noted(entryOf(row));
    }
  }

  async list({ user, since, after, limit }: AuditFilter): Promise<AuditEntry[]> {
    let query = this.#db.selectFrom('audit').select(COLUMNS).orderBy('id').limit(limit);
    if (user !== undefined) query = query.where('user_name', '=', user);
    if (since !== undefined) query = query.where('at', '>=', since);
    if (after !== undefined) query = query.where('id', '>', after);
    return (await query.execute()).map(entryOf);
  }
}

function entryOf(row: Row): AuditEntry {
  return {
    id: row.id,
    at: row.at,
    // Written by add() above, and by nobody else.
    action: row.action as AuditAction,
    userId: row.user_id,
    user: row.user_name,
    actor: row.actor,
    subject: row.subject,
    detail: JSON.parse(row.detail),
  };
}

import { type Kysely, sql } from 'kysely';

/** The tables of the first release. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('meta')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('disabled_at', 'text')
    .execute();
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('label', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('revoked_at', 'text')
    .addColumn('last_used_at', 'text')
    .execute();
  await db.schema
    .createTable('browser_sessions')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('key_id', 'text', (c) => c.notNull().references('api_keys.id').onDelete('cascade'))
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'text', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('settings')
    .addColumn('user_id', 'text', (c) => c.primaryKey().references('users.id').onDelete('cascade'))
    .addColumn('document', 'text', (c) => c.notNull())
    .addColumn('secrets', 'text', (c) => c.notNull())
    .execute();
  await createConversationTables(db);
}

async function createConversationTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('conversations')
    // AUTOINCREMENT: a number names directories and host uids, so a deleted one must never come back.
    .addColumn('key', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('trigger_kind', 'text', (c) => c.notNull())
    .addColumn('selected_repository', 'text')
    .addColumn('selected_branch', 'text')
    .addColumn('git_provider', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('runtime_status', 'text')
    .addColumn('agent_state', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('updated_at', 'text', (c) => c.notNull())
    .addColumn('last_event_id', 'integer', (c) => c.notNull())
    .addColumn('last_user_message', 'integer', (c) => c.notNull())
    .addColumn('accumulated_cost', 'double precision', (c) => c.notNull())
    .addColumn('prompt_tokens', 'integer', (c) => c.notNull())
    .addColumn('completion_tokens', 'integer', (c) => c.notNull())
    .addColumn('generation', 'integer', (c) => c.notNull())
    .addColumn('driver', 'text')
    .addColumn('wanted', 'integer', (c) => c.notNull())
    .addColumn('unfinished', 'integer', (c) => c.notNull())
    .addColumn('prepared', 'integer', (c) => c.notNull())
    .addColumn('iterations', 'integer', (c) => c.notNull())
    .addColumn('budget_from', 'double precision', (c) => c.notNull())
    .addColumn('request', 'text', (c) => c.notNull())
    .addUniqueConstraint('conversations_user_id', ['user_id', 'id'])
    .execute();
  await db.schema
    .createIndex('conversations_newest')
    .on('conversations')
    .columns(['user_id', 'key'])
    .execute();
  await db.schema
    .createIndex('conversations_wanted')
    .on('conversations')
    .columns(['user_id', 'key'])
    .where(sql.ref('wanted'), '=', sql.lit(1))
    .execute();
  await db.schema
    .createIndex('conversations_driven')
    .on('conversations')
    .column('key')
    .where(sql.ref('driver'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('conversations_idle')
    .on('conversations')
    .columns(['status', 'updated_at'])
    .execute();
  await db.schema
    .createTable('removed_conversations')
    .addColumn('key', 'integer', (c) => c.primaryKey())
    .execute();
  await db.schema
    .createTable('events')
    .addColumn('conversation', 'integer', (c) =>
      c.notNull().references('conversations.key').onDelete('cascade'),
    )
    .addColumn('id', 'integer', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('events_pk', ['conversation', 'id'])
    .execute();
  await db.schema
    .createTable('open_actions')
    .addColumn('conversation', 'integer', (c) =>
      c.notNull().references('conversations.key').onDelete('cascade'),
    )
    .addColumn('event_id', 'integer', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('open_actions_pk', ['conversation', 'event_id'])
    .execute();
  await db.schema
    .createTable('experiments')
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('conversation_id', 'text', (c) => c.notNull())
    .addColumn('config', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('experiments_pk', ['user_id', 'conversation_id'])
    .execute();
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('idempotency_key', 'text', (c) => c.notNull())
    .addColumn('conversation_id', 'text', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['user_id', 'idempotency_key'])
    .execute();
}

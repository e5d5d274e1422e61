import { type Kysely, type Selectable, sql } from 'kysely';
import type { ConversationError, ConversationStatus } from '../../contract/conversations.ts';
import type { ProviderName } from '../../contract/providers.ts';
import type { Conversation } from '../../conversations/store.ts';
import type { AgentState } from '../../events/event.ts';
import { prepared, type Value } from '../prepared.ts';
import type { Schema } from '../schema.ts';

/** All but the request, which may be megabytes of images. */
export const COLUMNS = [
  'key',
  'id',
  'user_id',
  'title',
  'trigger_kind',
  'selected_repository',
  'selected_branch',
  'git_provider',
  'status',
  'runtime_status',
  'agent_state',
  'error',
  'created_at',
  'updated_at',
  'last_event_id',
  'last_user_message',
  'accumulated_cost',
  'prompt_tokens',
  'completion_tokens',
  'generation',
  'driver',
  'wanted',
  'unfinished',
  'prepared',
  'iterations',
  'iterations_from',
  'budget_from',
  'condensation',
  'reserved',
] as const;

type Row = Selectable<Schema['conversations']>;

/** Behind all who wait or are driven. */
export const LAST_IN_LINE = sql<number>`(select coalesce(max(turn), 0) + 1 from conversations where turn is not null)`;
/** What the creator gives of a conversation; the rest of a row begins the same for all. */
type New = Pick<
  Row,
  | 'id'
  | 'user_id'
  | 'title'
  | 'trigger_kind'
  | 'selected_repository'
  | 'selected_branch'
  | 'git_provider'
  | 'agent_state'
  | 'created_at'
  | 'last_event_id'
  | 'last_user_message'
  | 'accumulated_cost'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'condensation'
  | 'unfinished'
  | 'request'
>;

/** Puts a new conversation at the end of the line; gives its key. */
export function insertOf(db: Kysely<Schema>) {
  return prepared(db, (value: Value<New>) =>
    db
      .insertInto('conversations')
      .values({
        id: value('id'),
        user_id: value('user_id'),
        title: value('title'),
        trigger_kind: value('trigger_kind'),
        selected_repository: value('selected_repository'),
        selected_branch: value('selected_branch'),
        git_provider: value('git_provider'),
        status: 'STARTING',
        runtime_status: null,
        agent_state: value('agent_state'),
        error: null,
        created_at: value('created_at'),
        updated_at: value('created_at'),
        last_event_id: value('last_event_id'),
        last_user_message: value('last_user_message'),
        accumulated_cost: value('accumulated_cost'),
        prompt_tokens: value('prompt_tokens'),
        completion_tokens: value('completion_tokens'),
        condensation: value('condensation'),
        generation: 0,
        driver: null,
        wanted: 1,
        turn: LAST_IN_LINE,
        unfinished: value('unfinished'),
        prepared: 0,
        iterations: 0,
        budget_from: 0,
        request: value('request'),
      })
      .returning('key'),
  );
}

/** The row as the service knows it. */
export function conversationOf(row: Pick<Row, (typeof COLUMNS)[number]>): Conversation {
  return {
    key: row.key,
    id: row.id,
    userId: row.user_id,
    title: row.title,
    trigger: row.trigger_kind,
    selectedRepository: row.selected_repository,
    selectedBranch: row.selected_branch,
    gitProvider: row.git_provider as ProviderName | null,
    status: row.status as ConversationStatus,
    runtimeStatus: row.runtime_status,
    agentState: row.agent_state as AgentState,
    error: row.error === null ? null : (JSON.parse(row.error) as ConversationError),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastEventId: row.last_event_id,
    lastUserMessage: row.last_user_message,
    accumulatedCost: row.accumulated_cost,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    generation: row.generation,
    driver: row.driver,
    wanted: row.wanted === 1,
    unfinished: row.unfinished === 1,
    prepared: row.prepared === 1,
    iterations: row.iterations,
    iterationsFrom: row.iterations_from,
    budgetFrom: row.budget_from,
    condensation: row.condensation,
    reserved: JSON.parse(row.reserved) as Conversation['reserved'],
  };
}

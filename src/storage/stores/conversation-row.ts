import { type Kysely, type Selectable, sql, type Updateable } from 'kysely';
import type { ConversationError, ConversationStatus } from '../../contract/conversations.ts';
import type { ProviderName } from '../../contract/providers.ts';
import type { Conversation, ConversationChange } from '../../conversations/store.ts';
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
const LAST_IN_LINE = sql<number>`(select coalesce(max(turn), 0) + 1 from conversations where turn is not null)`;
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

type Change = Updateable<Schema['conversations']>;

/**
 * Changes a row; with a generation only while that is its own. Members that are changed together have a query of their
 * own, which is built once: steps come here.
 */
export function updateOf(db: Kysely<Schema>) {
  const built = new Map<string, ReturnType<typeof build>>();
  const build = (names: readonly (keyof Change)[], wanted: boolean | undefined, isFenced: boolean) =>
    prepared(db, (value: Value<Change & { key: number; generation: number }>) => {
      const row = Object.fromEntries(names.map((name) => [name, value(name)]));
      const turn = wanted === undefined ? {} : wanted ? WANTED : UNWANTED;
      const query = db
        .updateTable('conversations')
        .set({ ...row, ...turn })
        .where('key', '=', value('key'));
      return isFenced ? query.where('generation', '=', value('generation')) : query;
    });
  return (key: number, change: ConversationChange, generation?: number) => {
    const row = changed(change);
    const names = Object.keys(row) as (keyof Change)[];
    const shape = `${names.join()} ${change.wanted} ${generation !== undefined}`;
    const update = built.get(shape) ?? build(names, change.wanted, generation !== undefined);
    built.set(shape, update);
    return update({ ...row, key, generation: generation ?? 0 });
  };
}

/** Who has a turn keeps it. */
const WANTED = { wanted: 1, turn: sql<number>`coalesce(turn, ${LAST_IN_LINE})` };
const UNWANTED = { wanted: 0, turn: sql<number | null>`case when driver is null then null else turn end` };

/** All but whether it is wanted: its turn goes with that. */
function changed(change: ConversationChange): Change {
  const row: Change = { updated_at: new Date().toISOString() };
  if (change.title !== undefined) row.title = change.title;
  if (change.status !== undefined) row.status = change.status;
  if (change.runtimeStatus !== undefined) row.runtime_status = change.runtimeStatus;
  if (change.error !== undefined) row.error = change.error && JSON.stringify(change.error);
  if (change.unfinished !== undefined) row.unfinished = change.unfinished ? 1 : 0;
  if (change.prepared !== undefined) row.prepared = change.prepared ? 1 : 0;
  if (change.iterations !== undefined) row.iterations = change.iterations;
  if (change.iterationsFrom !== undefined) row.iterations_from = change.iterationsFrom;
  if (change.budgetFrom !== undefined) row.budget_from = change.budgetFrom;
  if (change.reserved !== undefined) row.reserved = JSON.stringify(change.reserved);
  if (change.selectedBranch !== undefined) row.selected_branch = change.selectedBranch;
  return row;
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

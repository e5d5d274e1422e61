import type { ConversationError, ConversationStatus } from '../contract/conversations.ts';
import type { ProviderName } from '../contract/providers.ts';
import type { NewEvent } from '../events/event.ts';
import type { Projection } from '../events/projection.ts';
import type { Sealed } from '../secrets/vault.ts';

/** A conversation as its row has it. */
export interface Conversation extends Projection {
  /** Its number: what logs, directories and host uids go by. Never reused. */
  key: number;
  /** The id its user knows it by, unique for that user. */
  id: string;
  userId: string;
  title: string;
  trigger: string;
  selectedRepository: string | null;
  selectedBranch: string | null;
  gitProvider: ProviderName | null;
  status: ConversationStatus;
  runtimeStatus: string | null;
  error: ConversationError | null;
  createdAt: string;
  updatedAt: string;
  /** The id of the newest event, -1 before the first. */
  lastEventId: number;
  /** Who drives, as a number that only grows: the fence of every write of a run. */
  generation: number;
  /** The process that drives it now, or none. */
  driver: string | null;
  /** Somebody has to drive it. Set in the transaction that brings the reason. */
  wanted: boolean;
  /**
   * The agent has work: a message it has not dealt with, or a step it was in when it was stopped or failed. Outlives
   * a stop, so that a start goes on; ends when the agent waits for its user.
   */
  unfinished: boolean;
  /** The workspace is made, the repository cloned: not to be done again. */
  prepared: boolean;
  /** Steps taken so far. */
  iterations: number;
  /** How many had been taken when the allowance began: at creation, and again when a user answers a conversation that ended in error. */
  iterationsFrom: number;
  /** What the conversation had cost by then, in US dollars. */
  budgetFrom: number;
  /** What each call of the model under way may cost at most, in US dollars, by its number. Only while there is a budget. */
  reserved: Readonly<Record<number, number>>;
}

/** Whether the agent is to work when the conversation is driven; in an error it waits for its user to wake it. */
export function agentIsDue({ unfinished, error }: Pick<Conversation, 'unfinished' | 'error'>): boolean {
  return unfinished && error === null;
}

export interface NewConversation extends Pick<
  Conversation,
  | 'id'
  | 'userId'
  | 'title'
  | 'trigger'
  | 'selectedRepository'
  | 'selectedBranch'
  | 'gitProvider'
  | 'createdAt'
  | 'unfinished'
> {
  /** The request that created it, sealed. Large: read by {@link ConversationStore.request} alone. */
  request: Sealed;
}

export type ConversationChange = Partial<
  Pick<
    Conversation,
    | 'title'
    | 'status'
    | 'runtimeStatus'
    | 'error'
    | 'wanted'
    | 'unfinished'
    | 'prepared'
    | 'iterations'
    | 'iterationsFrom'
    | 'budgetFrom'
    | 'reserved'
    | 'selectedBranch'
  >
>;

export interface ConversationFilter {
  /** Only conversations with a smaller number: the page after that one. */
  before?: number;
  limit: number;
  repository?: string;
  trigger?: string;
}

export interface ConversationStore {
  /** Inserts a row that is STARTING and wanted, with the events its log begins with, and gives its number. */
  insert(conversation: NewConversation, first?: readonly NewEvent[]): Promise<number>;
  find(userId: string, id: string): Promise<Conversation | undefined>;
  get(key: number): Promise<Conversation | undefined>;
  /** Of {@link Conversation}, alone: asked at every step. -1 also where there is no conversation. */
  lastUserMessage(key: number): Promise<number>;
  /** The sealed request that created it. @throws ConversationGone */
  request(key: number): Promise<Sealed>;
  list(userId: string, filter: ConversationFilter): Promise<Conversation[]>;
  /** Changes a row; with a `generation` only while that is its own. @throws Fenced, ConversationGone */
  change(key: number, change: ConversationChange, generation?: number): Promise<void>;
  /** Removes the row and all that hangs on it, and notes that its workspace is to be discarded. */
  remove(key: number): Promise<void>;
  /** Removed conversations whose workspace may still be there. */
  removed(): Promise<number[]>;
  /** The workspace of a removed conversation is gone. */
  discarded(key: number): Promise<void>;

  /** Takes a wanted conversation to drive: a new generation, or nothing when there is nothing to do or someone drives. */
  claim(key: number, driver: string): Promise<Conversation | undefined>;
  /**
   * Ends a run, unless the user said something after event `seen`, or has asked for an action and none awaits a
   * decision first: then false, and the run goes on.
   * @throws Fenced, ConversationGone
   */
  release(key: number, generation: number, end: { seen: number; unfinished: boolean }): Promise<boolean>;
  /** Takes a conversation from whoever drives it: no driver, nothing wanted, and a new generation, which it gives. @throws ConversationGone */
  fence(key: number): Promise<number>;
  /** Those that somebody drives, as far as the rows know. */
  driven(): Promise<{ key: number; userId: string; generation: number }[]>;
  /**
   * Wants a conversation to be driven again whose run of this generation is no more, in the turn it had; false when
   * it has gone on.
   */
  requeue(key: number, generation: number): Promise<boolean>;
  /** All that wait to be driven, in the order in which they began to. */
  waiting(): Promise<{ key: number; userId: string }[]>;
  /** How many of a user's conversations wait to be driven. */
  countWaiting(userId: string): Promise<number>;
  /** RUNNING ones that nobody drives and that were last touched before `before`. */
  idle(before: string, limit: number): Promise<number[]>;
  /** Those of disabled users that are STARTING or RUNNING. */
  ofDisabledUsers(): Promise<number[]>;
  /** Numbers above `after` of STOPPED ones that nobody drives or wants and that were last touched before `before`. */
  untouched(before: string, after: number, limit: number): Promise<number[]>;
}

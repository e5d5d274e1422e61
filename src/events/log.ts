import type { Event, NewEvent } from './event.ts';

/** An event as it is stored and sent: its JSON text is written once and handed on as it stands. */
export interface StoredEvent {
  id: number;
  json: string;
}

export interface EventRange {
  /** The first id of the range. */
  from: number;
  /** The last id of the range, itself included. */
  to?: number;
  /** Newest first. */
  reverse?: boolean;
  limit: number;
  /** A page ends before the event that would make it larger, but has at least one. */
  maxBytes: number;
}

/** Thrown by a write of a run whose generation is no longer the conversation's: another one drives, or it was stopped. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/** Thrown by a write to a conversation that is not there, or no longer. */
export class ConversationGone extends Error {
  override readonly name = 'ConversationGone';
}

export type EventsToAppend = readonly (NewEvent & { timestamp?: string })[];

/** The log of every conversation, appended and never changed. Conversations are named by their number. */
export interface EventLog {
  /**
   * Gives the events their ids and appends them; the conversation's row follows in the same transaction
   * ({@link project}). With a `generation`, only while that is the conversation's. An event that happened elsewhere
   * before may bring its own time. Of events that name each other, a function is told the id of the first.
   * @throws Fenced, ConversationGone
   */
  append(
    conversation: number,
    events: EventsToAppend | ((first: number) => EventsToAppend),
    generation?: number,
  ): Promise<Event[]>;
  read(conversation: number, range: EventRange): Promise<StoredEvent[]>;
}

import type { Principal } from '../auth/principal.ts';
import { conversationNotFound } from '../conversations/service.ts';
import type { ConversationStore } from '../conversations/store.ts';
import type { Transact } from '../transact.ts';

/** What a user thinks of a conversation. The conversation itself is not repeated: its log is there. */
export interface Feedback {
  polarity: 'positive' | 'negative' | null;
  /** Whether the user would have it shown to others. We show it to nobody but the operator. */
  permissions: 'public' | 'private';
  /** An address to answer to, "" for none. */
  email: string;
  /** What the client calls its form, "" for nothing. */
  version: string;
}

/** As it is kept, with whose it is and of what. */
export interface FeedbackEntry extends Feedback {
  /** Grows with each entry. */
  id: number;
  /** ISO 8601 in UTC. */
  at: string;
  user: string;
  conversation: string;
  /** The newest event when it was given: what the user had seen. */
  lastEventId: number;
}

export interface FeedbackFilter {
  /** Only from that time on. */
  since?: string;
  /** Only entries after that one: the next page. */
  after?: number;
  limit: number;
}

/** Feedback goes with its conversation when that is removed. */
export interface FeedbackStore {
  /** Gives the entry's number. @param conversation the number of one that is there */
  add(conversation: number, feedback: Feedback): Promise<number>;
  /** Oldest first. */
  list(filter: FeedbackFilter): Promise<FeedbackEntry[]>;
}

/**
 * Keeps feedback here, for the operator: it is sent nowhere. Gives the entry's number.
 * @throws ServiceError conversation_not_found
 */
export async function keepFeedback(
  transact: Transact<{ conversations: ConversationStore; feedback: FeedbackStore }>,
  { userId }: Principal,
  conversationId: string,
  given: Feedback,
): Promise<number> {
  return await transact(async ({ conversations, feedback }) => {
    const row = await conversations.find(userId, conversationId);
    if (!row) throw conversationNotFound(conversationId);
    return await feedback.add(row.key, given);
  });
}

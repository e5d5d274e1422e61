import type { ConversationBody } from '../contract/conversations.ts';
import type { AuditStore } from '../audit/audit.ts';
import type { NewEvent } from '../events/event.ts';
import type { EventLog } from '../events/log.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Transact } from '../transact.ts';
import type { ExperimentStore } from './experiments.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { OpenActionStore } from './open-actions.ts';
import type { ConversationStore } from './store.ts';

export interface ConversationStores {
  conversations: ConversationStore;
  events: EventLog;
  openActions: OpenActionStore;
}

/** What the service writes beside them. */
interface WrittenStores extends ConversationStores {
  experiments: ExperimentStore;
  idempotency: IdempotencyStore;
  audit: AuditStore;
}

/** What the service asks of whoever drives conversations. */
export interface Drivers {
  /** Somebody has to drive it; told after the transaction that wants it is on disk. */
  offer(hint: { key: number; userId: string }): void;
  /** It leaves the line: when it is offered again, it comes last. Whoever withdraws it fences it next. */
  withdraw(key: number): void;
  /**
   * Ends the run that is here for a conversation, its command included; with a `generation`, only an older one.
   * Resolves when it has ended. Whoever interrupts fences the conversation next, or the run is taken up again.
   */
  interrupt(key: number, generation?: number): Promise<void>;
  /** Ends the sandbox, and all that runs in it. */
  release(key: number): Promise<void>;
  /** Removes the workspace of a conversation that is no more. */
  discard(key: number): Promise<void>;
}

/** Who watches conversations. */
export interface Watchers {
  watchers(conversation: number): number;
  /** Tells them what is not logged. */
  notify(
    conversation: number,
    status: { status_update: true; type: 'info'; message: string; conversation_title: string },
  ): void;
  end(conversation: number): void;
}

/** The words of a new conversation: what it is called, and what its user says first, if anything. */
export type Opening = (id: string, request: ConversationBody) => { title: string; message: NewEvent | null };

/** What an action of the agent's tools says, as the user's; or why it says nothing that could be done. */
export type UserAction = (
  name: string,
  args: Record<string, unknown>,
) => Promise<{ ok: true; action: NewEvent } | { ok: false; problem: string }>;

/** What conversations stand on. */
export interface ConversationPorts {
  read: ConversationStores & { idempotency: IdempotencyStore };
  transact: Transact<WrittenStores>;
  vault: Vault;
  drivers: Drivers;
  watchers: Watchers;
  opening: Opening;
  userAction: UserAction;
  /** Before new work is begun. @throws ServiceError disk_almost_full */
  admitWork(): Promise<void>;
  /** Hides the user's secrets in what is stored, and those that a conversation brought along. */
  redactor(userId: string, own: readonly Secret[]): Promise<TextRedactor>;
}

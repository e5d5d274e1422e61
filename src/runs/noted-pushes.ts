import type { AuditStore } from '../audit/audit.ts';
import type { ConversationStore } from '../conversations/store.ts';
import type { Push } from '../sandbox/gateway/push.ts';
import type { Transact } from '../transact.ts';

export interface NotedPushesOptions {
  transact: Transact<{ conversations: ConversationStore; audit: AuditStore }>;
  read: { conversations: ConversationStore };
  /** Hides the user's secrets: an agent may have made one the name of a branch. */
  redactor: (userId: string) => Promise<(text: string) => string>;
}

/** Notes in the audit log what an agent pushed: the conversation, the repository, each ref with its ids. */
export function notePushes({ transact, read, redactor }: NotedPushesOptions): (push: Push) => Promise<void> {
  return async ({ conversation, repository, refs, more, status }) => {
    const row = conversation === null ? undefined : await read.conversations.get(conversation);
    const redact = row ? await redactor(row.userId) : hideAll;
    const detail = {
      repository: redact(repository),
      refs: refs.map(({ name, from, to }) => ({ name: redact(name), from, to })),
      ...(more && { more }),
      answer: status,
    };
    const subject = row?.id ?? `conversation ${conversation ?? '?'}`;
    await transact(({ audit }) =>
      audit.add([{ action: 'push', userId: row?.userId ?? null, actor: 'agent', subject, detail }]),
    );
  };
}

/** Of a conversation that is no more the secrets are not known. */
function hideAll(): string {
  return '-';
}

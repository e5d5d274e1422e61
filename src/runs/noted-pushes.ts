import type { AuditStore } from '../audit/audit.ts';
import type { MadeRefStore } from '../conversations/made-refs.ts';
import type { ConversationStore } from '../conversations/store.ts';
import type { Push } from '../sandbox/gateway/push/push.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Transact } from '../transact.ts';

export interface NotedPushesOptions {
  transact: Transact<{ madeRefs: MadeRefStore; audit: AuditStore }>;
  read: { conversations: ConversationStore };
  /** Hides the user's secrets: an agent may have made one the name of a branch. */
  redactor: (userId: string) => Promise<Pick<TextRedactor, 'redact'>>;
}

/** Of a push so much is told: a program inside decides how long it is. */
const TOLD_REFS = 20;
const NAME_LENGTH = 200;

/**
 * Notes in the audit log what an agent pushed: the conversation, the repository, each ref with its ids. With it the
 * refs that the conversation made or removed.
 */
export function notePushes({ transact, read, redactor }: NotedPushesOptions): (push: Push) => Promise<void> {
  return async ({ conversation, repository, refs, more, status, refusal }) => {
    const row = conversation === null ? undefined : await read.conversations.get(conversation);
    const redact = row ? (await redactor(row.userId)).redact : hideAll;
    const detail = {
      repository: redact(repository),
      refs: refs.slice(0, TOLD_REFS).map(({ name, from, to, answer }) => ({
        name: redact(name).slice(0, NAME_LENGTH),
        from,
        to,
        answer,
      })),
      ...((more || refs.length > TOLD_REFS) && { more: true }),
      answer: status,
    };
    const subject = row?.id ?? `conversation ${conversation ?? '?'}`;
    const action = refusal === null ? 'push' : 'push.refused';
    const done = refs.filter(({ answer }) => answer === 'ok');
    const made = done
      .filter(({ from, to }) => from === null && to !== null)
      .map(({ name }) => name)
      // A secret is not kept as the name of a branch.
      .filter((name) => redact(name) === name);
    const removed = done.filter(({ to }) => to === null).map(({ name }) => name);
    await transact(async ({ audit, madeRefs }) => {
      await audit.add([{ action, userId: row?.userId ?? null, actor: 'agent', subject, detail }]);
      if (row) await madeRefs.note(row.key, { made, removed });
    });
  };
}

/** Of a conversation that is no more the secrets are not known. */
function hideAll(): string {
  return '-';
}

/** What is noted. Names of the kind are stable: operators search for them. */
export const AUDIT_ACTIONS = [
  'key.created',
  'key.revoked',
  'login.ok',
  'login.failed',
  'secret.set',
  'secret.cleared',
  'token.stored',
  'token.cleared',
  'token.refused',
  'custom_secret.set',
  'custom_secret.removed',
  'push',
  'push.refused',
  'provider.write',
  'conversation.deleted',
  'user.disabled',
  'user.enabled',
  'user.erased',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Something that was done and that somebody may have to answer for. Never holds the value of a secret. */
export interface AuditFact {
  action: AuditAction;
  /** Whose keys, secrets or conversations it concerns; null where nobody is known (a wrong key at a log-in). */
  userId: string | null;
  /** Who did it: `key:ID`, `command line`, `service`, or `agent` for what a conversation's agent did. */
  actor: string;
  /** What it was done to: the id of a key or conversation, the path of a settings member, a provider, an address. */
  subject: string;
  detail?: AuditDetail;
}

/** A few plain members, as JSON holds them. */
export type AuditDetail = Readonly<Record<string, unknown>>;

/** A fact as it was stored. */
export interface AuditEntry extends AuditFact {
  /** Grows with each entry. */
  id: number;
  /** ISO 8601 in UTC. */
  at: string;
  /** The user's name as it was then: it stays when the user is erased. */
  user: string | null;
  detail: AuditDetail;
}

export interface AuditFilter {
  /** Only of the user who had that name then. */
  user?: string;
  /** Only from that time on. */
  since?: string;
  /** Only entries after that one: the next page. */
  after?: number;
  limit: number;
}

/** What was done, in order. Can only be added to. */
export interface AuditStore {
  /** To be called in the transaction that does what the facts tell, before a user in them is removed. */
  add(facts: readonly AuditFact[]): Promise<void>;
  /** Oldest first. */
  list(filter: AuditFilter): Promise<AuditEntry[]>;
}

/** A key as an actor. */
export function keyActor({ keyId }: { keyId: string }): string {
  return `key:${keyId}`;
}

export const COMMAND_LINE = 'command line';

/** A ref that a push asks to change. An id is null where there is none: a ref that is made, or removed. */
export interface RefChange {
  name: string;
  from: string | null;
  to: string | null;
}

/** What became of one ref: the host said so, or nobody did. */
export type RefAnswer = 'ok' | 'refused' | 'unknown';

/** A push to the conversation's repository that came to the gateway. */
export interface Push {
  /** The conversation's number; null when its front does not say. */
  conversation: number | null;
  /** `owner/name`. */
  repository: string;
  /** Names are the agent's own words. */
  refs: readonly (RefChange & { answer: RefAnswer })[];
  /** They could not be read: the push went by as it was. */
  more: boolean;
  /** What the host answered: its HTTP status; null when no answer came, or when the gateway refused the push. */
  status: number | null;
  /** Why the gateway itself refused it; null when it was passed on. */
  refusal: string | null;
}

export const PUSH_POLICIES = ['protect', 'allow'] as const;
/**
 * `protect`: what the conversation did not make at its repository can be added to, and not be rewritten or removed.
 * `allow`: the host alone decides.
 */
export type PushPolicy = (typeof PUSH_POLICIES)[number];

/** What pushes through one gateway may do. */
export interface PushRules {
  policy: PushPolicy;
  /** Which of these refs the conversation has made at its repository. */
  made(conversation: number, refs: readonly string[]): Promise<ReadonlySet<string>>;
}

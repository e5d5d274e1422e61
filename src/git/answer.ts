/** What came of asking a provider: what one expects to go wrong is a value here, not an exception. */
export type Answer<T> = { kind: 'ok'; value: T } | ProviderFailure;

/** Why a provider did not do it. */
export type ProviderFailure = {
  /** A sentence for people: who, what, what to do; never with a token in it. */
  message: string;
  /** What was to be changed may be changed all the same: it was sent, and no answer says what became of it. */
  mayBeDone?: true;
} & (
  | { kind: 'no_token' | 'refused' | 'expired' }
  /** The token is valid, but not for this. `needs` is the scope, where the provider names it. */
  | { kind: 'without_scope'; needs: string | null }
  /** Not there, moved, or not to be seen with this token: providers do not tell these apart. */
  | { kind: 'not_found' }
  /** The provider read the request and would not do it: the pull request exists already, the branch is not there. */
  | { kind: 'rejected' }
  /** `until` is when it may be asked again, where the provider says. */
  | { kind: 'rate_limited'; until: Date | null }
  /** Not reached, no answer in time, or an error of its own: later it may. */
  | { kind: 'unavailable' }
  /** Its certificate is not known here, has run out, or is another host's. */
  | { kind: 'certificate' }
  /** The egress policy forbids the address. */
  | { kind: 'not_allowed' }
  /** A file or an answer that is larger than is read here. */
  | { kind: 'too_large' }
  /** An answer that is not in the documented shape. */
  | { kind: 'unexpected' }
  /** The provider has no such thing. */
  | { kind: 'unsupported' }
);

/** Whoever asked gave up after something was sent that changes something: it may be changed all the same. */
export class GivenUpMidway extends Error {
  override readonly name = 'GivenUpMidway';

  /** @param reason that of the signal */
  constructor(reason: unknown) {
    super('given up after it was sent', { cause: reason });
  }
}

export function ok<T>(value: T): Answer<T> {
  return { kind: 'ok', value };
}

/** The same outcome with another value, when there is one. */
export function mapAnswer<T, U>(answer: Answer<T>, to: (value: T) => U): Answer<U> {
  return answer.kind === 'ok' ? ok(to(answer.value)) : answer;
}

import type { ProviderName } from '../contract/providers.ts';
import { type ErrorCode, ServiceError } from '../errors.ts';
import type { ProviderFailure } from '../git/answer.ts';

/** What was asked for, where a provider says that it is not there. */
export type Missing = 'repository_not_found' | 'file_not_found';

/** Why one provider gave no answer. */
export interface Failure {
  provider: ProviderName;
  code: ErrorCode;
  /** One sentence a person can act on. */
  detail: string;
  /** When it may be asked again, where it says. */
  until: Date | null;
}

/** Somebody else's fault, never ours: no code of these is a 5xx. */
const CODES: Readonly<Record<ProviderFailure['kind'], ErrorCode>> = {
  no_token: 'git_token_required',
  refused: 'provider_token_refused',
  expired: 'provider_token_refused',
  without_scope: 'provider_forbidden',
  rate_limited: 'provider_rate_limited',
  // Where nothing can be missing or large: then something is wrong with the host.
  not_found: 'provider_unavailable',
  too_large: 'provider_unavailable',
  rejected: 'provider_unavailable',
  unavailable: 'provider_unavailable',
  certificate: 'provider_unavailable',
  not_allowed: 'provider_unavailable',
  unexpected: 'provider_unavailable',
  unsupported: 'provider_unavailable',
};

/** @param missing null where nothing can be missing */
export function failureOf(
  provider: ProviderName,
  failure: ProviderFailure,
  missing: Missing | null,
): Failure {
  const code = codeOf(failure, missing);
  const until = failure.kind === 'rate_limited' ? failure.until : null;
  return { provider, code, detail: sentence(failure.message), until };
}

function codeOf({ kind }: ProviderFailure, missing: Missing | null): ErrorCode {
  if (kind === 'not_found' && missing !== null) return missing;
  if (kind === 'too_large' && missing === 'file_not_found') return 'file_too_large';
  return CODES[kind];
}

/**
 * The error of a request that no provider answered. Of several failures it is the one that may pass soonest: a
 * repository that one provider does not have may lie at another, which could not be asked. Pages of V0 take 401 for
 * the end of all tokens and remove them, so it is said only when no token may still be good.
 */
export function failureError(failures: readonly Failure[]): ServiceError {
  const [first, ...others] = failures.toSorted((a, b) => WEIGHT.indexOf(a.code) - WEIGHT.indexOf(b.code));
  if (!first) return tokenRequired(null);
  const { code, detail, until } = first;
  return new ServiceError(code, detail, {
    ...(until && { retryAfter: Math.max(1, (until.getTime() - Date.now()) / 1000) }),
    ...(others.length > 0 && {
      errors: failures.map((failure) => ({
        loc: ['provider', failure.provider],
        msg: failure.detail,
        type: failure.code,
      })),
    }),
  });
}

const WEIGHT: readonly ErrorCode[] = [
  'provider_rate_limited',
  'provider_unavailable',
  'file_too_large',
  'provider_forbidden',
  'provider_token_refused',
  'git_token_required',
  'repository_not_found',
  'file_not_found',
];

/** @param provider whose token is missing; null for any */
export function tokenRequired(provider: ProviderName | null): ServiceError {
  const whose = provider === null ? 'Git provider token required' : `A token of ${provider} is required`;
  return new ServiceError('git_token_required', `${whose}: POST /api/add-git-providers stores one.`);
}

/** A host's name at its beginning stays as it is. */
function sentence(message: string): string {
  const whole = message.replace(
    /^[a-z]+(?![\w.:-])/,
    (word) => word.slice(0, 1).toUpperCase() + word.slice(1),
  );
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

import type { ConversationError } from '../../contract/conversations.ts';
import type { ProviderFailure } from '../../git/answer.ts';
import type { CommandOutcome } from '../../sandbox/sandbox.ts';

export type CloneFailure = { runtimeStatus: string; error: ConversationError };

/** How long a clone may take. */
export const CLONE_MS = 15 * 60 * 1000;

const ERROR = 'STATUS$ERROR';
/** V0's for all that is wrong with a token or with what it may see. */
const ACCESS = 'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR';
const STORE_TOKEN =
  'Store a token that may read it (POST /api/add-git-providers), then start the conversation again.';
const LATER = 'When the git provider can be reached, start the conversation again.';

/** What each reason is called, and what to do about it. */
const REASONS: Partial<
  Record<ProviderFailure['kind'], { code: string; runtimeStatus: string; hint: string }>
> = {
  no_token: { code: 'git_token_missing', runtimeStatus: ACCESS, hint: STORE_TOKEN },
  refused: { code: 'git_token_refused', runtimeStatus: ACCESS, hint: STORE_TOKEN },
  expired: { code: 'git_token_expired', runtimeStatus: ACCESS, hint: STORE_TOKEN },
  without_scope: {
    code: 'git_token_without_scope',
    runtimeStatus: ACCESS,
    hint: 'Give the token the permission to read the code, or store another (POST /api/add-git-providers), then start the conversation again.',
  },
  not_found: {
    code: 'repository_not_found',
    runtimeStatus: ACCESS,
    hint: 'Check its name and git_provider; a private repository needs a token that may see it (POST /api/add-git-providers).',
  },
  rate_limited: { code: 'git_rate_limited', runtimeStatus: ERROR, hint: LATER },
  unavailable: { code: 'git_host_unreachable', runtimeStatus: ERROR, hint: LATER },
  certificate: {
    code: 'git_host_certificate',
    runtimeStatus: ERROR,
    hint: 'Start the service with NODE_EXTRA_CA_CERTS naming the CA certificate of the git host, then start the conversation again.',
  },
  not_allowed: {
    code: 'git_host_not_allowed',
    runtimeStatus: ERROR,
    hint: 'Who runs the service may allow the host (PARLEY_ALLOW_PRIVATE_HOSTS); then start the conversation again.',
  },
};

/**
 * Why a clone failed: in the provider's words where it knows a reason, as it tells more than git does; else in git's.
 */
export async function cloneFailure(
  outcome: CommandOutcome,
  { repository, askWhy }: { repository: string; askWhy: () => Promise<ProviderFailure | null> },
): Promise<CloneFailure> {
  if (outcome.kind === 'timed_out') {
    return failure(
      ERROR,
      'clone_timed_out',
      `Cloning ${repository} took longer than ${CLONE_MS / 60_000} minutes.`,
      'Check that the git provider answers, then start the conversation again.',
    );
  }
  const git = outcome.kind === 'exited' ? kindIn(outcome.output) : null;
  const why = git === null ? null : await askWhy();
  const reason = why && REASONS[why.kind];
  if (reason)
    return failure(
      reason.runtimeStatus,
      reason.code,
      `Cloning ${repository} failed: ${why.message}`,
      reason.hint,
    );
  const told = git && REASONS[git];
  if (told)
    return failure(
      told.runtimeStatus,
      told.code,
      `Cloning ${repository} failed. ${said(outcome.output)}`,
      told.hint,
    );
  return failure(
    ERROR,
    'clone_failed',
    `Cloning ${repository} failed. ${outcome.reason ?? said(outcome.output)}`,
    'When the cause is gone, start the conversation again.',
  );
}

/** What git says, in the words of itself and of the gateway; null when it is nothing that a provider would know about. */
function kindIn(output: string): ProviderFailure['kind'] | null {
  if (/wants a token for/.test(output)) return 'no_token';
  if (/did not accept the stored token|Authentication failed|could not read Username/i.test(output))
    return 'refused';
  if (/returned error: 50\d/.test(output)) {
    return /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(output) ? 'certificate' : 'unavailable';
  }
  if (/returned error: 403/.test(output)) {
    return /PARLEY_ALLOW_PRIVATE_HOSTS/.test(output) ? 'not_allowed' : 'without_scope';
  }
  if (/returned error: 429/.test(output)) return 'rate_limited';
  if (/repository .*not found|returned error: 404|does not appear to be a git repository/i.test(output)) {
    return 'not_found';
  }
  return /unable to access|RPC failed/.test(output) ? 'unavailable' : null;
}

export function failure(runtimeStatus: string, code: string, message: string, hint: string): CloneFailure {
  return { runtimeStatus, error: { code, message: message.trim(), hint } };
}

/** The lines in which git, the gateway or the host say what was wrong. */
export function said(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(fatal|error|remote|gateway|bash|No space)/i.test(line));
  return lines.slice(-3).join(' ').slice(0, 500);
}

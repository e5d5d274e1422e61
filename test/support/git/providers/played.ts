import type { Answer, ProviderFailure } from '../../../../src/git/answer.ts';
import type { AskableProvider, GitProvider, Page } from '../../../../src/git/git-provider.ts';

const UNSUPPORTED: ProviderFailure = { kind: 'unsupported', message: 'it has no such thing' };

/** A git provider that does what a test says, and has nothing else. */
export function playedProvider(provider: AskableProvider, plays: Partial<GitProvider> = {}): GitProvider {
  const unsupported = () => Promise.resolve(UNSUPPORTED);
  return {
    provider,
    whoAmI: unsupported,
    owners: unsupported,
    repositories: unsupported,
    searchRepositories: unsupported,
    repository: unsupported,
    branches: unsupported,
    file: unsupported,
    folder: unsupported,
    issue: unsupported,
    issueComments: unsupported,
    addIssueComment: unsupported,
    pullRequest: unsupported,
    pullRequestComments: unsupported,
    addPullRequestComment: unsupported,
    reviewComments: unsupported,
    openPullRequest: unsupported,
    checks: unsupported,
    ownPullRequests: unsupported,
    assignedIssues: unsupported,
    ...plays,
  };
}

export function told<T>(value: T): () => Promise<Answer<T>> {
  return () => Promise.resolve({ kind: 'ok', value });
}

export function paged<T>(items: T[], more = false): () => Promise<Answer<Page<T>>> {
  return told({ items, more, total: null });
}

export function failed(
  kind: Exclude<ProviderFailure['kind'], 'without_scope' | 'rate_limited'>,
  message = 'it failed',
) {
  return (): Promise<ProviderFailure> => Promise.resolve({ kind, message });
}

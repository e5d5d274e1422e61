import type { GitProvider } from './git-provider.ts';

/** With pull requests of the repository's own branches alone: some take `owner:branch` for one of a fork. */
export function withOwnBranches(provider: GitProvider): GitProvider {
  return {
    ...provider,
    openPullRequest(repository, request, signal) {
      // No name of a branch has a colon (git-check-ref-format).
      const other = [request.head, request.base].find((branch) => branch.includes(':'));
      if (other === undefined) return provider.openPullRequest(repository, request, signal);
      const message = `${other} is no branch of ${repository}: name one of its own, without an owner.`;
      return Promise.resolve({ kind: 'rejected', message });
    },
  };
}

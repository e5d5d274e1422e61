import type { BranchView, GitUser, RepositoryView } from '../contract/git.ts';
import type { ProviderName } from '../contract/providers.ts';
import type { Branch, ProviderUser, Repository } from '../git/git-provider.ts';

/** What providers know, in V0's shapes. */

export function userOf({ id, login, name, email, company, avatarUrl }: ProviderUser): GitUser {
  return { id, login, avatar_url: avatarUrl ?? '', company, name, email };
}

export function repositoryOf(provider: ProviderName, repository: Repository): RepositoryView {
  return {
    id: repository.id,
    full_name: repository.fullName,
    git_provider: provider,
    is_public: repository.isPublic,
    stargazers_count: repository.stars,
    link_header: null,
    pushed_at: repository.pushedAt,
    owner_type: repository.ownerType,
    main_branch: repository.defaultBranch,
  };
}

export function branchOf({ name, commit, isProtected, pushedAt }: Branch): BranchView {
  return { name, commit_sha: commit, protected: isProtected, last_push_date: pushedAt };
}

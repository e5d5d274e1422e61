import { z } from 'zod';
import { listOf } from '../list-of.ts';
import type {
  AssignedIssue,
  Branch,
  CheckState,
  Owner,
  ProviderUser,
  Repository,
  ReviewComment,
} from '../git-provider.ts';
import { webLink } from '../web-link.ts';
import { commentOf, pullRequestOf, request, said } from './github-like-shapes.ts';

/**
 * What the REST API (v1) of Forgejo and Gitea answers, as far as it is read, and what it means here; more of it in
 * github-like-shapes.ts.
 */

const text = z.string();
const id = z.number().transform(String);

export const user = z
  .object({
    id,
    login: text.min(1).max(255),
    full_name: text.nullish(),
    email: text.nullish(),
    avatar_url: webLink,
  })
  .transform((given): ProviderUser => ({
    id: given.id,
    login: given.login,
    name: given.full_name || null,
    email: given.email || null,
    company: null,
    avatarUrl: given.avatar_url,
  }));

export const organisations = listOf(
  z.object({ id, name: text }).transform((given): Owner => ({ id: given.id, name: given.name })),
);

export const repository = z
  .object({
    id,
    full_name: text,
    private: z.boolean(),
    default_branch: text.nullish(),
    empty: z.boolean().nullish(),
    stars_count: z.int().nullish(),
    updated_at: text.nullish(),
  })
  .transform((given): Repository => ({
    id: given.id,
    fullName: given.full_name,
    isPublic: !given.private,
    defaultBranch: given.empty === true ? null : given.default_branch || null,
    stars: given.stars_count ?? null,
    pushedAt: given.updated_at ?? null,
    ownerType: null,
  }));
export const foundRepositories = z.object({ data: listOf(repository) });

export const branches = listOf(
  z
    .object({
      name: text,
      protected: z.boolean(),
      commit: z.object({ id: text, timestamp: text.nullish() }),
    })
    .transform((given): Branch => ({
      name: given.name,
      commit: given.commit.id,
      isProtected: given.protected,
      pushedAt: given.commit.timestamp ?? null,
    })),
);

/** Issues or pull requests, wherever they are. */
export const foundIssues = listOf(
  z
    .object({ number: z.int(), title: text, repository: z.object({ full_name: text }) })
    .transform((given): AssignedIssue => ({
      repository: given.repository.full_name,
      number: given.number,
      title: given.title,
    })),
);

/** With what `ownPullRequests` tells besides. */
export const pullRequest = request
  .extend({ merged: z.boolean().nullish(), mergeable: z.boolean().nullish() })
  .transform((given) => ({
    // A draft is never mergeable.
    hasConflicts: given.mergeable === false && given.draft !== true,
    request: pullRequestOf(given, given.merged === true),
  }));

export const reviews = listOf(
  z.object({ id, state: text, dismissed: z.boolean().nullish(), comments_count: z.int().nullish() }),
);

export const reviewComments = listOf(
  said
    .extend({ path: text, position: z.int().nullish(), resolver: z.object({ login: text }).nullish() })
    .transform((given): ReviewComment => ({
      ...commentOf(given),
      path: given.path,
      // 0 is the line of a comment on lines that are gone.
      line: given.position || null,
      isResolved: (given.resolver ?? null) !== null,
    })),
);

const STATUSES: Readonly<Record<string, CheckState>> = {
  success: 'success',
  pending: 'pending',
  warning: 'neutral',
  skipped: 'neutral',
};

export const combinedStatus = z.object({
  // Null where there is none.
  statuses: z
    .array(
      z.object({ context: text, status: text, target_url: webLink }).transform((given) => ({
        name: given.context,
        state: STATUSES[given.status] ?? ('failure' as const),
        // Null for its own actions, whose address has no host.
        url: given.target_url,
      })),
    )
    .nullable(),
});

import { z } from 'zod';
import type {
  AssignedIssue,
  Branch,
  CheckState,
  Comment,
  Issue,
  Owner,
  ProviderUser,
  PullRequest,
  Repository,
  ReviewComment,
} from '../git-provider.ts';
import { webLink } from '../web-link.ts';

/** What the REST API (v1) of Forgejo and Gitea answers, as far as it is read, and what it means here. */

const text = z.string();
const id = z.number().transform(String);
const author = z.object({ login: text }).nullish();

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

export const organisations = z.array(
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
export const foundRepositories = z.object({ data: z.array(repository) });

export const branches = z.array(
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

export const issue = z
  .object({
    number: z.int(),
    title: text,
    body: text.nullish(),
    state: text,
    user: author,
    labels: z.array(z.object({ name: text })).nullish(),
    html_url: webLink,
  })
  .transform((given): Issue => ({
    number: given.number,
    title: given.title,
    body: given.body ?? '',
    isOpen: given.state === 'open',
    author: given.user?.login ?? null,
    labels: (given.labels ?? []).map(({ name }) => name),
    url: given.html_url,
  }));

/** Issues or pull requests, wherever they are. */
export const foundIssues = z.array(
  z
    .object({ number: z.int(), title: text, repository: z.object({ full_name: text }) })
    .transform((given): AssignedIssue => ({
      repository: given.repository.full_name,
      number: given.number,
      title: given.title,
    })),
);

export const comment = z
  .object({ id, user: author, body: text, created_at: text, html_url: webLink })
  .transform((given): Comment => ({
    id: given.id,
    author: given.user?.login ?? null,
    body: given.body,
    createdAt: given.created_at,
    url: given.html_url,
  }));
export const comments = z.array(comment);

const end = z.object({ ref: text, sha: text.nullish(), repo: z.object({ full_name: text }).nullish() });

/** With what `ownPullRequests` tells besides. */
export const pullRequest = z
  .object({
    number: z.int(),
    title: text,
    body: text.nullish(),
    state: text,
    merged: z.boolean().nullish(),
    mergeable: z.boolean().nullish(),
    draft: z.boolean().nullish(),
    user: author,
    head: end,
    base: end,
    html_url: webLink,
  })
  .transform((given): { hasConflicts: boolean; request: PullRequest } => ({
    // A draft is never mergeable.
    hasConflicts: given.mergeable === false && given.draft !== true,
    request: {
      number: given.number,
      title: given.title,
      body: given.body ?? '',
      state: given.merged === true ? 'merged' : given.state === 'open' ? 'open' : 'closed',
      isDraft: given.draft ?? false,
      author: given.user?.login ?? null,
      head: {
        branch: given.head.ref,
        commit: given.head.sha || null,
        repository:
          given.head.repo?.full_name === given.base.repo?.full_name
            ? null
            : (given.head.repo?.full_name ?? ''),
      },
      base: given.base.ref,
      url: given.html_url,
    },
  }));

export const reviews = z.array(
  z.object({ id, state: text, dismissed: z.boolean().nullish(), comments_count: z.int().nullish() }),
);

export const reviewComments = z.array(
  z
    .object({
      id,
      user: author,
      body: text,
      created_at: text,
      html_url: webLink,
      path: text,
      position: z.int().nullish(),
      resolver: z.object({ login: text }).nullish(),
    })
    .transform((given): ReviewComment => ({
      id: given.id,
      author: given.user?.login ?? null,
      body: given.body,
      createdAt: given.created_at,
      url: given.html_url,
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

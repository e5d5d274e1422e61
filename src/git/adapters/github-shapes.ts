import { z } from 'zod';
import { listOf } from '../list-of.ts';
import type {
  Branch,
  CheckState,
  OwnPullRequest,
  ProviderUser,
  Repository,
  ReviewComment,
} from '../git-provider.ts';
import { webLink } from '../web-link.ts';
import { commentOf, pullRequestOf, request, said } from './github-like-shapes.ts';

/**
 * What GitHub's REST API (version 2022-11-28) and GraphQL API answer, as far as it is read, and what it means here;
 * more of it in github-like-shapes.ts.
 */

const text = z.string();
const login = z.object({ login: text }).nullable();
const id = z.number().transform(String);

export const user = z
  .object({
    id,
    login: text.min(1).max(255),
    name: text.nullish(),
    email: text.nullish(),
    company: text.nullish(),
    avatar_url: webLink,
  })
  .transform((given): ProviderUser => ({
    id: given.id,
    login: given.login,
    name: given.name ?? null,
    email: given.email ?? null,
    company: given.company ?? null,
    avatarUrl: given.avatar_url,
  }));

export const organisations = listOf(
  z.object({ login: text }).transform((given) => ({ id: given.login, name: given.login })),
);

export const repository = z
  .object({
    id,
    full_name: text,
    private: z.boolean(),
    default_branch: text.nullish(),
    stargazers_count: z.int().nullish(),
    pushed_at: text.nullish(),
    owner: z.object({ type: text }),
  })
  .transform((given): Repository => ({
    id: given.id,
    fullName: given.full_name,
    isPublic: !given.private,
    defaultBranch: given.default_branch ?? null,
    stars: given.stargazers_count ?? null,
    pushedAt: given.pushed_at ?? null,
    ownerType: given.owner.type === 'Organization' ? 'organization' : 'user',
  }));
export const repositories = listOf(repository);
export const foundRepositories = z.object({ total_count: z.int(), items: repositories });

export const branches = listOf(
  z
    .object({ name: text, commit: z.object({ sha: text }), protected: z.boolean() })
    .transform((given): Branch => ({
      name: given.name,
      commit: given.commit.sha,
      isProtected: given.protected,
      pushedAt: null,
    })),
);

export const matchingRefs = listOf(
  z
    .object({ ref: text.startsWith('refs/heads/'), object: z.object({ sha: text }) })
    .transform((given) => ({ name: given.ref.slice('refs/heads/'.length), commit: given.object.sha })),
);

/** Pull requests are among them: they are issues, too. */
export const assignedIssues = listOf(
  z
    .object({
      number: z.int(),
      title: text,
      repository: z.object({ full_name: text }),
      pull_request: z.unknown().optional(),
    })
    .transform((given) => ({
      isIssue: given.pull_request === undefined,
      issue: { repository: given.repository.full_name, number: given.number, title: given.title },
    })),
);

export const pullRequest = request
  .extend({ merged_at: text.nullable() })
  .transform((given) => pullRequestOf(given, given.merged_at !== null));

const CONCLUSIONS: Readonly<Record<string, CheckState>> = {
  success: 'success',
  neutral: 'neutral',
  skipped: 'neutral',
  stale: 'neutral',
};

export const checkRuns = z.object({
  check_runs: listOf(
    z
      .object({ name: text, status: text, conclusion: text.nullable(), html_url: webLink })
      .transform((run) => ({
        name: run.name,
        state:
          run.status === 'completed'
            ? (CONCLUSIONS[run.conclusion ?? ''] ?? 'failure')
            : ('pending' as const),
        url: run.html_url,
      })),
  ),
});

const STATUSES: Readonly<Record<string, CheckState>> = { success: 'success', pending: 'pending' };

export const statuses = z.object({
  statuses: listOf(
    z.object({ context: text, state: text, target_url: webLink }).transform((given) => ({
      name: given.context,
      state: STATUSES[given.state] ?? ('failure' as const),
      url: given.target_url,
    })),
  ),
});

/** The members of a connection that are there: GitHub leaves a null where something may not be seen. */
function nodes<T extends z.ZodType>(shape: T) {
  return z
    .array(shape.nullable())
    .nullable()
    .transform((list) => (list ?? []).filter((node) => node !== null));
}

export const refsPage = z.object({
  repository: z
    .object({
      refs: z
        .object({
          totalCount: z.int(),
          pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: text.nullable() }),
          nodes: nodes(
            z.object({
              name: text,
              target: z.object({ oid: text, committedDate: text.optional() }).nullable(),
              branchProtectionRule: z.object({}).nullable(),
            }),
          ),
        })
        .nullable(),
    })
    .nullable(),
});

export const ownPullRequests = z.object({
  viewer: z.object({
    pullRequests: z.object({
      nodes: nodes(
        z
          .object({
            number: z.int(),
            title: text,
            repository: z.object({ nameWithOwner: text }),
            mergeable: text,
            reviewDecision: text.nullable(),
            commits: z.object({
              nodes: nodes(
                z.object({ commit: z.object({ statusCheckRollup: z.object({ state: text }).nullable() }) }),
              ),
            }),
            reviewThreads: z.object({ nodes: nodes(z.object({ isResolved: z.boolean() })) }),
          })
          .transform((given): OwnPullRequest => ({
            repository: given.repository.nameWithOwner,
            number: given.number,
            title: given.title,
            hasConflicts: given.mergeable === 'CONFLICTING',
            hasFailingChecks: given.commits.nodes.some(({ commit }) =>
              ['FAILURE', 'ERROR'].includes(commit.statusCheckRollup?.state ?? ''),
            ),
            hasUnresolvedComments:
              given.reviewDecision === 'CHANGES_REQUESTED' ||
              given.reviewThreads.nodes.some(({ isResolved }) => !isResolved),
          })),
      ),
    }),
  }),
});

export const reviewThreads = z.object({
  repository: z
    .object({
      pullRequest: z
        .object({
          reviewThreads: z.object({
            nodes: nodes(
              z.object({
                isResolved: z.boolean(),
                path: text,
                line: z.int().nullable(),
                comments: z.object({
                  nodes: nodes(
                    z.object({ id: text, author: login, body: text, createdAt: text, url: webLink }),
                  ),
                }),
              }),
            ),
          }),
        })
        .nullable(),
    })
    .nullable(),
});

/** Review comments as the REST API has them, for who has no token. */
export const reviewComments = listOf(
  said.extend({ path: text, line: z.int().nullish() }).transform((given): ReviewComment => ({
    ...commentOf(given),
    path: given.path,
    line: given.line ?? null,
    isResolved: null,
  })),
);

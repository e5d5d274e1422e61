import { z } from 'zod';
import { listOf } from '../list-of.ts';
import type {
  AssignedIssue,
  Branch,
  CheckState,
  Comment,
  Issue,
  OwnPullRequest,
  FolderEntry,
  Owner,
  Page,
  ProviderUser,
  PullRequest,
  Repository,
  ReviewComment,
} from '../git-provider.ts';
import { webLink } from '../web-link.ts';

/** What GitLab's REST API (v4) and GraphQL API answer, as far as it is read, and what it means here. */

/** One page of a list, as Gitbeaker gives it with the counts of its head. */
function page<T>(items: z.ZodType<T[]>) {
  return z
    .object({
      data: items,
      paginationInfo: z.object({
        next: z.int().nullable(),
        // Not said where there are very many.
        total: z.int().min(0).nullable().catch(null),
      }),
    })
    .transform(({ data, paginationInfo: { next, total } }): Page<T> => ({
      items: data,
      more: next !== null,
      total,
    }));
}

const text = z.string();
const id = z.number().transform(String);
const author = z.object({ username: text }).nullable();

export const user = z
  .object({
    id,
    username: text.min(1).max(255),
    name: text.nullish(),
    email: text.nullish(),
    organization: text.nullish(),
    avatar_url: webLink,
  })
  .transform((given): ProviderUser => ({
    id: given.id,
    login: given.username,
    name: given.name ?? null,
    email: given.email || null,
    company: given.organization || null,
    avatarUrl: given.avatar_url,
  }));

export const groups = listOf(
  z.object({ full_path: text }).transform((given): Owner => ({ id: given.full_path, name: given.full_path })),
);

export const project = z
  .object({
    id,
    path_with_namespace: text,
    visibility: text,
    default_branch: text.nullish(),
    star_count: z.int().nullish(),
    last_activity_at: text.nullish(),
    namespace: z.object({ kind: text }),
  })
  .transform((given): Repository => ({
    id: given.id,
    fullName: given.path_with_namespace,
    isPublic: given.visibility === 'public',
    defaultBranch: given.default_branch ?? null,
    stars: given.star_count ?? null,
    pushedAt: given.last_activity_at ?? null,
    ownerType: given.namespace.kind === 'group' ? 'organization' : 'user',
  }));
export const projects = page(listOf(project));

export const branches = page(
  listOf(
    z
      .object({
        name: text,
        protected: z.boolean(),
        commit: z.object({ id: text, committed_date: text.nullish() }),
      })
      .transform((given): Branch => ({
        name: given.name,
        commit: given.commit.id,
        isProtected: given.protected,
        pushedAt: given.commit.committed_date ?? null,
      })),
  ),
);

export const commit = z.object({ id: text });

export const file = z.object({ file_path: text, encoding: text, content: text });

export const tree = page(
  listOf(
    z.object({ name: text, path: text, type: text }).transform(({ name, path, type }): FolderEntry => ({
      name,
      path,
      kind: type === 'tree' ? 'folder' : 'file',
    })),
  ),
);

export const issue = z
  .object({
    iid: z.int(),
    title: text,
    description: text.nullish(),
    state: text,
    author,
    labels: listOf(text),
    web_url: webLink,
  })
  .transform((given): Issue => ({
    number: given.iid,
    title: given.title,
    body: given.description ?? '',
    isOpen: given.state === 'opened',
    author: given.author?.username ?? null,
    labels: given.labels,
    url: given.web_url,
  }));

export const assignedIssues = listOf(
  z
    .object({ iid: z.int(), title: text, references: z.object({ full: text }) })
    .transform((given): AssignedIssue => ({
      // group/project#7
      repository: given.references.full.replace(/#\d+$/, ''),
      number: given.iid,
      title: given.title,
    })),
);

const note = z.object({ id, body: text, author, created_at: text });

/** GitLab notes down there, too, what was done to the issue; and what reviewers say of lines. */
export const notes = page(listOf(note.extend({ system: z.boolean(), type: text.nullish() }))).transform(
  ({ items, more }): Page<Comment> => ({
    items: items.filter(({ system, type }) => !system && type !== 'DiffNote').map(commentOf),
    more,
    total: null,
  }),
);
export const comment = note.transform(commentOf);

function commentOf(given: z.output<typeof note>): Comment {
  return {
    id: given.id,
    author: given.author?.username ?? null,
    body: given.body,
    createdAt: given.created_at,
    url: null,
  };
}

const place = z.object({
  new_path: text.nullish(),
  old_path: text.nullish(),
  new_line: z.int().nullish(),
  old_line: z.int().nullish(),
});

const reviewNote = note.extend({
  type: text.nullish(),
  resolved: z.boolean().nullish(),
  position: place.nullish(),
});

/** Of all discussions, those of lines. */
export const reviewComments = listOf(z.object({ notes: listOf(reviewNote) })).transform((discussions) =>
  discussions
    .flatMap(({ notes: said }) => said)
    .filter(({ type }) => type === 'DiffNote')
    .map(({ position, resolved, ...given }): ReviewComment => ({
      ...commentOf(given),
      path: position?.new_path ?? position?.old_path ?? '',
      line: position?.new_line ?? position?.old_line ?? null,
      isResolved: resolved ?? null,
    })),
);

export const mergeRequest = z
  .object({
    iid: z.int(),
    title: text,
    description: text.nullish(),
    state: text,
    draft: z.boolean().optional(),
    author,
    source_branch: text,
    target_branch: text,
    source_project_id: z.int().nullable(),
    target_project_id: z.int(),
    sha: text.nullish(),
    web_url: webLink,
  })
  .transform((given): PullRequest => ({
    number: given.iid,
    title: given.title,
    body: given.description ?? '',
    state: given.state === 'opened' ? 'open' : given.state === 'merged' ? 'merged' : 'closed',
    isDraft: given.draft ?? false,
    author: given.author?.username ?? null,
    head: {
      branch: given.source_branch,
      commit: given.sha ?? null,
      repository: given.source_project_id === given.target_project_id ? null : '',
    },
    base: given.target_branch,
    url: given.web_url,
  }));

const STATUSES: Readonly<Record<string, CheckState>> = {
  success: 'success',
  failed: 'failure',
  canceled: 'failure',
  skipped: 'neutral',
  manual: 'neutral',
};

export const statuses = listOf(
  z
    .object({ name: text, status: text, allow_failure: z.boolean().nullish(), target_url: webLink })
    .transform((given) => {
      const state = STATUSES[given.status] ?? ('pending' as const);
      const mayFail = state === 'failure' && given.allow_failure === true;
      return {
        name: given.name,
        state: mayFail ? ('neutral' as const) : state,
        url: given.target_url,
      };
    }),
);

export const ownMergeRequests = z
  .object({
    data: z.object({
      currentUser: z.object({
        authoredMergeRequests: z.object({
          nodes: listOf(
            z
              .object({
                iid: z.string().regex(/^\d{1,9}$/),
                title: text,
                conflicts: z.boolean(),
                project: z.object({ fullPath: text }),
                headPipeline: z.object({ status: text }).nullable(),
                resolvableDiscussionsCount: z.int().nullable(),
                resolvedDiscussionsCount: z.int().nullable(),
              })
              .transform((given): OwnPullRequest => ({
                repository: given.project.fullPath,
                number: Number(given.iid),
                title: given.title,
                hasConflicts: given.conflicts,
                hasFailingChecks: given.headPipeline?.status === 'FAILED',
                hasUnresolvedComments:
                  (given.resolvableDiscussionsCount ?? 0) > (given.resolvedDiscussionsCount ?? 0),
              })),
          ),
        }),
      }),
    }),
  })
  .transform(({ data }) => data.currentUser.authoredMergeRequests.nodes);

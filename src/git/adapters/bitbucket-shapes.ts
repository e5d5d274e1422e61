import { z } from 'zod';
import { listOf } from '../list-of.ts';
import type {
  Branch,
  CheckState,
  Comment,
  Owner,
  ProviderUser,
  PullRequest,
  Repository,
} from '../git-provider.ts';
import { webLink } from '../web-link.ts';

/** What Bitbucket Cloud's REST API (2.0) answers, as far as it is read, and what it means here. */

const text = z.string();
const link = z.object({ href: webLink });

const account = z.object({
  nickname: text.nullish(),
  username: text.nullish(),
  display_name: text.nullish(),
});

/** Accounts have no name that is theirs alone, but for old ones. */
function nameOf(given: z.infer<typeof account> | null | undefined): string | null {
  return given?.username || given?.nickname || given?.display_name || null;
}

const author = account.nullish().transform(nameOf);

export const user = account
  .extend({ uuid: text, links: z.object({ avatar: link.nullish() }).nullish() })
  .transform((given, context): ProviderUser => {
    const login = nameOf(given);
    if (login === null) context.addIssue('has no name');
    return {
      id: given.uuid,
      login: (login ?? '').slice(0, 255),
      name: given.display_name ?? null,
      email: null,
      company: null,
      avatarUrl: given.links?.avatar?.href ?? null,
    };
  });

/** A page of a list; the address of the next is never called, it only says that there is one. */
export function pageOf<T extends z.ZodType>(entry: T) {
  return z
    .object({ values: listOf(entry), next: text.nullish(), size: z.int().nullish() })
    .transform((given) => ({
      items: given.values,
      next: given.next ?? null,
      more: typeof given.next === 'string',
      total: given.size ?? null,
    }));
}

export const workspaces = pageOf(
  z
    .object({ workspace: z.object({ slug: text }) })
    .transform(({ workspace }): Owner => ({ id: workspace.slug, name: workspace.slug })),
);

export const repository = z
  .object({
    uuid: text,
    full_name: text,
    is_private: z.boolean(),
    mainbranch: z.object({ name: text }).nullish(),
    updated_on: text.nullish(),
    created_on: text.nullish(),
    owner: z.object({ type: text }).nullish(),
  })
  .transform((given): { createdAt: string; repository: Repository } => ({
    createdAt: given.created_on ?? '',
    repository: {
      id: given.uuid,
      fullName: given.full_name,
      isPublic: !given.is_private,
      defaultBranch: given.mainbranch?.name ?? null,
      stars: null,
      pushedAt: given.updated_on ?? null,
      ownerType: given.owner ? (given.owner.type === 'user' ? 'user' : 'organization') : null,
    },
  }));

const target = z.object({ hash: text, date: text.nullish() });

export const branches = pageOf(
  z.object({ name: text, target }).transform((given): Branch => ({
    name: given.name,
    commit: given.target.hash,
    isProtected: false,
    pushedAt: given.target.date ?? null,
  })),
);

/** Branches and tags. */
export const refs = pageOf(z.object({ type: text, name: text, target }));

/** What lies at a path. */
export const meta = z.object({ type: text, path: text, size: z.int().nullish() });

export const entries = pageOf(z.object({ type: text, path: text }));

export const comment = z
  .object({
    id: z.int().transform(String),
    content: z.object({ raw: text.nullish() }),
    user: author,
    created_on: text,
    deleted: z.boolean().nullish(),
    parent: z.object({ id: z.int().transform(String) }).nullish(),
    inline: z.object({ path: text, from: z.int().nullish(), to: z.int().nullish() }).nullish(),
    resolution: z.object({}).nullish(),
    links: z.object({ html: link.nullish() }).nullish(),
  })
  .transform((given) => ({
    comment: {
      id: given.id,
      author: given.user,
      body: given.content.raw ?? '',
      createdAt: given.created_on,
      url: given.links?.html?.href ?? null,
    } satisfies Comment,
    isDeleted: given.deleted === true,
    parent: given.parent?.id ?? null,
    isResolved: (given.resolution ?? null) !== null,
    place: given.inline
      ? { path: given.inline.path, line: given.inline.to ?? given.inline.from ?? null }
      : null,
  }));
export const comments = pageOf(comment);

const end = z.object({
  branch: z.object({ name: text }),
  // Null when the repository is gone; 12 letters long.
  commit: z.object({ hash: text }).nullish(),
  repository: z.object({ full_name: text }).nullish(),
});

const STATES: Readonly<Record<string, PullRequest['state']>> = { OPEN: 'open', MERGED: 'merged' };

/** With what `ownPullRequests` tells besides. */
export const pullRequest = z
  .object({
    id: z.int(),
    title: text,
    description: text.nullish(),
    state: text,
    draft: z.boolean().nullish(),
    author,
    source: end,
    destination: end,
    task_count: z.int().nullish(),
    links: z.object({ html: link }),
  })
  .transform(
    (given): { request: PullRequest; repository: string; into: string | null; openTasks: number } => ({
      repository: given.destination.repository?.full_name ?? '',
      into: given.destination.commit?.hash ?? null,
      openTasks: given.task_count ?? 0,
      request: {
        number: given.id,
        title: given.title,
        body: given.description ?? '',
        state: STATES[given.state] ?? 'closed',
        isDraft: given.draft ?? false,
        author: given.author,
        head: {
          branch: given.source.branch.name,
          commit: given.source.commit?.hash ?? null,
          repository:
            given.source.repository?.full_name === given.destination.repository?.full_name
              ? null
              : (given.source.repository?.full_name ?? ''),
        },
        base: given.destination.branch.name,
        url: given.links.html.href,
      },
    }),
  );
export const pullRequests = pageOf(pullRequest);

export const diffstat = pageOf(z.object({ status: text }));

const STATUSES: Readonly<Record<string, CheckState>> = {
  SUCCESSFUL: 'success',
  INPROGRESS: 'pending',
  STOPPED: 'neutral',
};

export const statuses = pageOf(
  z.object({ key: text, name: text.nullish(), state: text, url: webLink }).transform((given) => ({
    name: given.name || given.key,
    state: STATUSES[given.state] ?? ('failure' as const),
    url: given.url,
  })),
);

import { z } from 'zod';
import { listOf } from '../list-of.ts';
import type { CheckState, Comment, FolderEntry, Issue, ProviderUser, PullRequest } from '../git-provider.ts';
import { webLink } from '../web-link.ts';
import { nameOrId } from './azure-devops-place.ts';

/** What the REST API of Azure DevOps (7.1) answers, as far as it is read, and what it means here. */

const text = z.string();

/** What is a list is one below `value`. */
export function listIn<T extends z.ZodType>(entry: T) {
  return z.object({ value: listOf(entry) }).transform(({ value }) => value);
}

const identity = z
  .object({ displayName: text.nullish(), uniqueName: text.nullish() })
  .nullish()
  .transform((given) => given?.uniqueName || given?.displayName || null);

export const connection = z
  .object({
    authenticatedUser: z.object({
      id: text,
      providerDisplayName: text.nullish(),
      properties: z.object({ Account: z.object({ $value: text }).nullish() }).nullish(),
    }),
  })
  .transform(({ authenticatedUser }, context): ProviderUser => {
    const account = authenticatedUser.properties?.Account?.$value ?? '';
    const login = account || authenticatedUser.providerDisplayName || '';
    if (login === '') context.addIssue('has no name');
    return {
      id: authenticatedUser.id,
      login: login.slice(0, 255),
      name: authenticatedUser.providerDisplayName ?? null,
      email: account.includes('@') ? account : null,
      company: null,
      avatarUrl: null,
    };
  });

const project = z.object({
  id: text,
  name: text,
  visibility: text.nullish(),
  lastUpdateTime: text.nullish(),
});
export const projects = listIn(project);

export const repository = z.object({
  id: text,
  name: text,
  project,
  /** refs/heads/main; none while it is empty. */
  defaultBranch: text.nullish(),
  isDisabled: z.boolean().nullish(),
});
export const repositories = listIn(repository);

export const refs = listIn(
  z.object({ name: text.startsWith('refs/heads/'), objectId: text }).transform(({ name, objectId }) => ({
    name: name.slice('refs/heads/'.length),
    commit: objectId,
    isProtected: false,
    pushedAt: null,
  })),
);

export const item = z.object({ gitObjectType: text, path: text, content: text.nullish() });
export const items = listIn(z.object({ gitObjectType: text, path: text.startsWith('/') }));

export function entryOf({ gitObjectType, path }: { gitObjectType: string; path: string }): FolderEntry {
  const kind = gitObjectType === 'tree' ? 'folder' : 'file';
  return { name: path.split('/').at(-1) ?? '', path: path.slice(1), kind };
}

const CLOSED = new Set(['closed', 'done', 'removed', 'completed', 'resolved']);

export const workItem = z
  .object({
    id: z.int(),
    fields: z.object({
      'System.Title': text,
      'System.Description': text.nullish(),
      'System.State': text,
      'System.CreatedBy': identity,
      'System.Tags': text.nullish(),
      'System.TeamProject': text,
    }),
    _links: z.object({ html: z.object({ href: webLink }) }),
  })
  .transform(({ id, fields, _links }): { project: string; issue: Issue } => ({
    project: fields['System.TeamProject'],
    issue: {
      number: id,
      title: fields['System.Title'],
      body: fields['System.Description'] ?? '',
      isOpen: !CLOSED.has(fields['System.State'].toLowerCase()),
      author: fields['System.CreatedBy'],
      labels: (fields['System.Tags'] ?? '').split('; ').filter((tag) => tag !== ''),
      url: _links.html.href,
    },
  }));

export const workItemComment = z
  .object({ id: z.int().transform(String), text, createdBy: identity, createdDate: text })
  .transform((given): Comment => ({
    id: given.id,
    author: given.createdBy,
    body: given.text,
    createdAt: given.createdDate,
    url: null,
  }));
export const workItemComments = z.object({ totalCount: z.int(), comments: listOf(workItemComment) });

export const foundWorkItems = z.object({ workItems: listOf(z.object({ id: z.int() })) });
export const workItems = listIn(
  z.object({ id: z.int(), fields: z.object({ 'System.Title': text, 'System.TeamProject': text }) }),
);

const STATES: Readonly<Record<string, PullRequest['state']>> = { active: 'open', completed: 'merged' };

/** With what `ownPullRequests` tells besides. */
export const pullRequest = z
  .object({
    pullRequestId: z.int(),
    title: text,
    description: text.nullish(),
    status: text,
    isDraft: z.boolean().nullish(),
    mergeStatus: text.nullish(),
    createdBy: identity,
    sourceRefName: text,
    targetRefName: text,
    lastMergeSourceCommit: z.object({ commitId: text }).nullish(),
    forkSource: z.object({ repository: z.object({ name: text, project }) }).nullish(),
    repository: z.object({ id: text, name: text, project: z.object({ id: text, name: text }) }),
  })
  .transform((given) => ({
    hasConflicts: given.mergeStatus === 'conflicts',
    project: given.repository.project,
    repository: { id: given.repository.id, name: given.repository.name },
    request: {
      number: given.pullRequestId,
      title: given.title,
      body: given.description ?? '',
      state: STATES[given.status] ?? ('closed' as const),
      isDraft: given.isDraft ?? false,
      author: given.createdBy,
      head: {
        branch: branchOf(given.sourceRefName),
        commit: given.lastMergeSourceCommit?.commitId ?? null,
        repository: given.forkSource ? forkOf(given.forkSource.repository) : null,
      },
      base: branchOf(given.targetRefName),
    },
  }));
export const pullRequests = listIn(pullRequest);

function branchOf(ref: string): string {
  return ref.replace(/^refs\/heads\//, '');
}

function forkOf({ name, project: of }: { name: string; project: { id: string; name: string } }): string {
  return `${nameOrId(of.name, of.id)}/${name}`;
}

/** Conversations and what reviewers say of lines; and what Azure notes down itself. */
export const thread = z
  .object({
    id: z.int(),
    status: text.nullish(),
    isDeleted: z.boolean().nullish(),
    threadContext: z
      .object({
        filePath: text.nullish(),
        rightFileStart: z.object({ line: z.int() }).nullish(),
        leftFileStart: z.object({ line: z.int() }).nullish(),
      })
      .nullish(),
    comments: listOf(
      z.object({
        id: z.int(),
        content: text.nullish(),
        author: identity,
        publishedDate: text,
        commentType: text,
        isDeleted: z.boolean().nullish(),
      }),
    ),
  })
  .transform((given) => {
    const { filePath, rightFileStart, leftFileStart } = given.threadContext ?? {};
    return {
      place: filePath
        ? { path: filePath.replace(/^\//, ''), line: rightFileStart?.line ?? leftFileStart?.line ?? null }
        : null,
      isResolved: !['active', 'pending'].includes(given.status ?? ''),
      comments: given.comments
        .filter((comment) => given.isDeleted !== true && comment.isDeleted !== true)
        .filter(({ commentType }) => commentType !== 'system')
        .map((comment): Comment => ({
          id: `${given.id}.${comment.id}`,
          author: comment.author,
          body: comment.content ?? '',
          createdAt: comment.publishedDate,
          url: null,
        })),
    };
  });
export const threads = listIn(thread);

const STATUSES: Readonly<Record<string, CheckState>> = {
  succeeded: 'success',
  failed: 'failure',
  error: 'failure',
  notApplicable: 'neutral',
};

export const commitStatuses = listIn(
  z
    .object({
      state: text,
      context: z.object({ name: text, genre: text.nullish() }),
      targetUrl: webLink,
    })
    .transform((given) => ({
      name: given.context.name,
      state: STATUSES[given.state] ?? ('pending' as const),
      url: given.targetUrl,
    })),
);

const RESULTS: Readonly<Record<string, CheckState>> = {
  succeeded: 'success',
  partiallySucceeded: 'failure',
  failed: 'failure',
  canceled: 'failure',
};

export const builds = listIn(
  z
    .object({
      status: text,
      result: text.nullish(),
      sourceVersion: text.nullish(),
      definition: z.object({ name: text }),
      _links: z.object({ web: z.object({ href: webLink }).nullish() }).nullish(),
    })
    .transform((given) => ({
      commit: given.sourceVersion ?? '',
      check: {
        name: given.definition.name,
        state:
          given.status === 'completed' ? (RESULTS[given.result ?? ''] ?? 'neutral') : ('pending' as const),
        url: given._links?.web?.href ?? null,
      },
    })),
);

/** The kinds of branch policy that are checks: a build, and a status that something else sets. */
const CHECKING = new Set(['0609b952-1397-4640-95ec-e00a01b2c241', 'cbdc66da-9728-4af8-aada-9a5a32e4a226']);

export const policyEvaluations = listIn(
  z
    .object({ status: text, configuration: z.object({ type: z.object({ id: text }) }) })
    .transform(({ status, configuration }) => ({
      isFailing: CHECKING.has(configuration.type.id) && ['rejected', 'broken'].includes(status),
    })),
);

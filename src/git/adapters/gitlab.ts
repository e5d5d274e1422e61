import { Secret } from '../../secrets/secret.ts';
import type { ProviderAccess } from '../access.ts';
import { type Answer, mapAnswer, ok } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { apiPath, pathSegments } from '../api-path.ts';
import { Api, type Told } from '../api.ts';
import { decodedFile } from '../file-content.ts';
import type {
  Comment,
  FolderEntry,
  GitProvider,
  Page,
  PageOf,
  RepositorySort,
  ReviewComment,
} from '../git-provider.ts';
import { overallState } from '../overall-state.ts';
import * as shapes from './gitlab-shapes.ts';

/** GitLab's own service or one of one's own, also below a path. */
export function gitlab({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const place = {
    name: 'GitLab',
    root: `${base}/api`,
    token,
    authorization: token && new Secret(`Bearer ${token.unwrap()}`),
  };
  const open = (signal: AbortSignal) => new Api(place, fetch, signal, deadlineMs);
  /** Of what GitLab would show somebody else's to who has no token. */
  const withToken = <T>(signal: AbortSignal, what: string, ask: (api: Api) => Promise<Answer<T>>) =>
    token ? ask(open(signal)) : Promise.resolve(failureOf(place, 'no_token', what));

  return {
    provider: 'gitlab',

    whoAmI: (signal) => open(signal).ask('/v4/user', { shape: shapes.user, what: 'the account' }),

    owners: (signal) =>
      withToken(signal, 'the groups', (api) =>
        api.ask('/v4/groups', {
          query: { min_access_level: 10, per_page: 100 },
          shape: shapes.groups,
          what: 'the groups',
        }),
      ),

    repositories: ({ sort, owner, ...which }, signal) => {
      const what = owner === null ? 'the projects' : `the projects of ${owner}`;
      return withToken(signal, what, async (api) => {
        const path = owner === null ? '/v4/projects' : groupPath(owner);
        const own = owner === null ? { membership: true } : { include_subgroups: true };
        const query = { ...own, ...ORDER[sort], ...paging(which) };
        return paged(await api.tell(path, { query, shape: shapes.projects, what }));
      });
    },

    async searchRepositories({ query, sort, order, ...which }, signal) {
      if (query.trim() === '') return ok({ items: [], more: false, total: 0 });
      const orderBy = sort === 'stars' ? 'star_count' : 'last_activity_at';
      return paged(
        await open(signal).tell('/v4/projects', {
          query: {
            search: query.trim(),
            search_namespaces: query.includes('/') || null,
            order_by: orderBy,
            sort: order,
            ...paging(which),
          },
          shape: shapes.projects,
          what: 'projects',
        }),
      );
    },

    repository: (repository, signal) =>
      open(signal).ask(projectPath(repository), { shape: shapes.project, what: `the project ${repository}` }),

    async branches(repository, { query, ...which }, signal) {
      return paged(
        await open(signal).tell(below(repository, '/repository/branches'), {
          query: { search: query || null, ...paging(which) },
          shape: shapes.branches,
          what: `the project ${repository}`,
        }),
      );
    },

    async file(repository, path, ref, signal) {
      const what = `the file ${path} in ${repository}`;
      const asked = await open(signal).ask(
        apiPath`${pathSegments(path)}` && below(repository, apiPath`/repository/files/${path}`),
        { query: { ref: ref ?? 'HEAD' }, shape: shapes.file, what },
      );
      if (asked.kind !== 'ok') return asked;
      return decodedFile(path, asked.value.encoding === 'base64' ? asked.value.content : undefined, what);
    },

    folder: (repository, path, ref, signal) => folder(open(signal), repository, path, ref),

    issue: (repository, number, signal) =>
      open(signal).ask(below(repository, apiPath`/issues/${number}`), {
        shape: shapes.issue,
        what: `the issue ${number} of ${repository}`,
      }),

    issueComments: (repository, number, which, signal) =>
      talk(open(signal), repository, apiPath`/issues/${number}/notes`, which),
    addIssueComment: (repository, number, body, signal) =>
      say(open(signal), repository, apiPath`/issues/${number}/notes`, body),

    pullRequest: (repository, number, signal) =>
      open(signal).ask(below(repository, apiPath`/merge_requests/${number}`), {
        shape: shapes.mergeRequest,
        what: `the merge request ${number} of ${repository}`,
      }),

    pullRequestComments: (repository, number, which, signal) =>
      talk(open(signal), repository, apiPath`/merge_requests/${number}/notes`, which),
    addPullRequestComment: (repository, number, body, signal) =>
      say(open(signal), repository, apiPath`/merge_requests/${number}/notes`, body),

    reviewComments: (repository, number, signal) => reviewComments(open(signal), repository, number),

    openPullRequest: (repository, { title, body, head, base: into, isDraft }, signal) =>
      open(signal).ask(below(repository, '/merge_requests'), {
        method: 'POST',
        body: {
          title: isDraft ? `Draft: ${title}` : title,
          description: body,
          source_branch: head,
          target_branch: into,
        },
        shape: shapes.mergeRequest,
        what: `a merge request in ${repository}`,
      }),

    async checks(repository, ref, signal) {
      const api = open(signal);
      const what = `the pipelines of ${ref} in ${repository}`;
      // Statuses are asked for by commit alone, which a branch has to be found for.
      const commit = await api.ask(below(repository, apiPath`/repository/commits/${ref}`), {
        shape: shapes.commit,
        what,
      });
      if (commit.kind !== 'ok') return commit;
      const statuses = await api.ask(
        below(repository, apiPath`/repository/commits/${commit.value.id}/statuses`),
        {
          query: { per_page: 100 },
          shape: shapes.statuses,
          what,
        },
      );
      return mapAnswer(statuses, (checks) => ({ state: overallState(checks), checks }));
    },

    ownPullRequests: (signal) =>
      withToken(signal, 'your merge requests', async (api) =>
        mapAnswer(
          await api.ask('/graphql', {
            method: 'POST',
            isSearch: true,
            body: { query: OWN_MERGE_REQUESTS },
            shape: shapes.ownMergeRequests,
            what: 'your merge requests',
          }),
          ({ data }) => data.currentUser.authoredMergeRequests.nodes,
        ),
      ),

    assignedIssues: (signal) =>
      withToken(signal, 'your issues', (api) =>
        api.ask('/v4/issues', {
          query: {
            scope: 'assigned_to_me',
            state: 'opened',
            order_by: 'updated_at',
            sort: 'desc',
            per_page: 50,
          },
          shape: shapes.assignedIssues,
          what: 'your issues',
        }),
      ),
  };
}

const OWN_MERGE_REQUESTS = `query {
  currentUser {
    authoredMergeRequests(state: opened, first: 50, sort: UPDATED_DESC) {
      nodes {
        iid
        title
        conflicts
        project { fullPath }
        headPipeline { status }
        resolvableDiscussionsCount
        resolvedDiscussionsCount
      }
    }
  }
}`;

const ORDER: Readonly<Record<RepositorySort, { order_by: string; sort: string }>> = {
  pushed: { order_by: 'last_activity_at', sort: 'desc' },
  updated: { order_by: 'updated_at', sort: 'desc' },
  created: { order_by: 'created_at', sort: 'desc' },
  full_name: { order_by: 'path', sort: 'asc' },
};

function paging({ page, perPage }: PageOf) {
  return { page, per_page: perPage };
}

function paged<T>(told: Answer<Told<T[]>>): Answer<Page<T>> {
  return mapAnswer(told, ({ value, headers }) => {
    const total = headers.get('x-total');
    return {
      items: value,
      more: (headers.get('x-next-page') ?? '') !== '',
      total: total !== null && /^\d{1,9}$/.test(total) ? Number(total) : null,
    };
  });
}

/** A project is `group/name`, with more groups between; GitLab takes the whole as one encoded segment. */
function projectPath(project: string) {
  const parts = project.split('/');
  return parts.length > 1 && apiPath`${parts}` !== null ? apiPath`/v4/projects/${project}` : null;
}

function groupPath(group: string) {
  return apiPath`${group.split('/')}` && apiPath`/v4/groups/${group}/projects`;
}

function below(project: string, path: string | null) {
  const root = projectPath(project);
  return root === null || path === null ? null : root + path;
}

const ENTRIES = 1_000;

async function folder(
  api: Api,
  repository: string,
  path: string,
  ref: string | null,
): Promise<Answer<FolderEntry[]>> {
  const what = `the folder ${path || '/'} in ${repository}`;
  const isPath = path === '' || apiPath`${pathSegments(path)}` !== null;
  const found: FolderEntry[] = [];
  for (let page = 1; found.length < ENTRIES; page += 1) {
    const told = await api.tell(isPath ? below(repository, '/repository/tree') : null, {
      query: { path: path || null, ref: ref ?? 'HEAD', page, per_page: 100 },
      shape: shapes.tree,
      what,
    });
    if (told.kind !== 'ok') return told;
    const { value, headers } = told.value;
    for (const entry of value) {
      found.push({ name: entry.name, path: entry.path, kind: entry.type === 'tree' ? 'folder' : 'file' });
    }
    if (value.length === 0 || (headers.get('x-next-page') ?? '') === '') break;
  }
  // Git knows no empty folder.
  return found.length === 0 ? failureOf(api.place, 'not_found', what) : ok(found.slice(0, ENTRIES));
}

async function talk(
  api: Api,
  repository: string,
  path: string | null,
  which: PageOf,
): Promise<Answer<Page<Comment>>> {
  const told = await api.tell(below(repository, path), {
    query: { order_by: 'created_at', sort: 'asc', ...paging(which) },
    shape: shapes.notes,
    what: `the comments in ${repository}`,
  });
  return mapAnswer(paged(told), ({ items, more }) => ({
    items: items.filter(({ isTalk }) => isTalk).map(({ comment }) => comment),
    more,
    total: null,
  }));
}

async function say(
  api: Api,
  repository: string,
  path: string | null,
  body: string,
): Promise<Answer<Comment>> {
  const asked = await api.ask(below(repository, path), {
    method: 'POST',
    body: { body },
    shape: shapes.note,
    what: `a comment in ${repository}`,
  });
  return mapAnswer(asked, ({ comment }) => comment);
}

async function reviewComments(
  api: Api,
  repository: string,
  number: number,
): Promise<Answer<ReviewComment[]>> {
  const asked = await api.ask(below(repository, apiPath`/merge_requests/${number}/discussions`), {
    query: { per_page: 100 },
    shape: shapes.discussions,
    what: `the merge request ${number} of ${repository}`,
  });
  return mapAnswer(asked, (discussions) =>
    discussions
      .flatMap(({ notes }) => notes)
      .filter(({ type }) => type === 'DiffNote')
      .map((note) => ({
        id: note.id,
        author: note.author?.username ?? null,
        body: note.body,
        createdAt: note.created_at,
        url: null,
        path: note.position?.new_path ?? note.position?.old_path ?? '',
        line: note.position?.new_line ?? note.position?.old_line ?? null,
        isResolved: note.resolved ?? null,
      })),
  );
}

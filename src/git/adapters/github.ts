import { type Answer, mapAnswer, ok } from '../answer.ts';
import type { ProviderAccess } from '../access.ts';
import { failureOf } from '../api-failure.ts';
import { apiPath, pathSegments } from '../api-path.ts';
import { Api, type Told } from '../api.ts';
import { decodedFile } from '../file-content.ts';
import type { Branch, CheckState, GitProvider, Page, PageOf, ReviewComment } from '../git-provider.ts';
import { Secret } from '../../secrets/secret.ts';
import { hasNext } from '../link-header.ts';
import { overallState } from '../overall-state.ts';
import { askGraph } from './github-graphql.ts';
import { OWN_PULL_REQUESTS, REFS, REVIEW_THREADS } from './github-queries.ts';
import * as shapes from './github-shapes.ts';

/** GitHub's own service, GitHub Enterprise Cloud with data residency (`NAME.ghe.com`), or an Enterprise Server. */
export function github({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const { rest, graph } = roots(base);
  const place = {
    name: 'GitHub',
    token,
    authorization: token && new Secret(`Bearer ${token.unwrap()}`),
    accept: 'application/vnd.github+json',
    // Enterprise Servers know this version, too; it is supported to March 2028 at least.
    headers: { 'x-github-api-version': '2022-11-28' },
  };
  const open = (signal: AbortSignal) => new Api({ ...place, root: rest }, fetch, signal, deadlineMs);
  const openGraph = (signal: AbortSignal) => new Api({ ...place, root: graph }, fetch, signal, deadlineMs);

  return {
    provider: 'github',

    whoAmI: (signal) => open(signal).ask('/user', { shape: shapes.user, what: 'the account' }),

    owners: (signal) =>
      open(signal).ask('/user/orgs', {
        query: { per_page: 100 },
        shape: shapes.organisations,
        what: 'the organisations',
      }),

    async repositories({ page, perPage, sort, owner }, signal) {
      const path = owner === null ? '/user/repos' : apiPath`/orgs/${owner}/repos`;
      const query = { sort, direction: sort === 'full_name' ? 'asc' : 'desc', page, per_page: perPage };
      const what = owner === null ? 'the repositories' : `the repositories of ${owner}`;
      return paged(await open(signal).tell(path, { query, shape: shapes.repositories, what }));
    },

    async searchRepositories({ query, page, perPage, sort, order }, signal) {
      const q = searchText(query);
      if (q === null) return ok({ items: [], more: false, total: 0 });
      const api = open(signal);
      const told = await api.tell('/search/repositories', {
        query: { q, sort, order, page, per_page: perPage },
        shape: shapes.foundRepositories,
        what: 'repositories',
      });
      // An owner that is not there is an error to GitHub; here nothing was found.
      if (told.kind === 'rejected' && q.includes('user:')) return ok({ items: [], more: false, total: 0 });
      return mapAnswer(told, ({ value, headers }) => ({
        items: value.items,
        more: hasNext(headers),
        total: value.total_count,
      }));
    },

    repository: (repository, signal) =>
      open(signal).ask(repositoryPath(repository), {
        shape: shapes.repository,
        what: `the repository ${repository}`,
      }),

    async branches(repository, { query, ...which }, signal) {
      if (query !== null && query !== '') {
        return token
          ? searchBranches(openGraph(signal), repository, query, which)
          : branchesFrom(open(signal), repository, query, which);
      }
      return paged(
        await open(signal).tell(below(repository, '/branches'), {
          query: { page: which.page, per_page: which.perPage },
          shape: shapes.branches,
          what: `the repository ${repository}`,
        }),
      );
    },

    async file(repository, path, ref, signal) {
      const api = open(signal);
      const what = `the file ${path} in ${repository}`;
      const asked = await api.ask(contentsPath(repository, path), {
        query: { ref },
        shape: shapes.contents,
        what,
      });
      if (asked.kind !== 'ok') return asked;
      if (Array.isArray(asked.value) || asked.value.type !== 'file')
        return failureOf(api.place, 'not_found', what);
      const { encoding, content } = asked.value;
      return decodedFile(path, encoding === 'base64' ? content : undefined, what);
    },

    async folder(repository, path, ref, signal) {
      const api = open(signal);
      const what = `the folder ${path || '/'} in ${repository}`;
      const asked = await api.ask(contentsPath(repository, path), {
        query: { ref },
        shape: shapes.contents,
        what,
      });
      if (asked.kind !== 'ok') return asked;
      if (!Array.isArray(asked.value)) return failureOf(api.place, 'not_found', what);
      return ok(
        asked.value.map((entry) => ({
          name: entry.name,
          path: entry.path,
          kind: entry.type === 'dir' ? 'folder' : 'file',
        })),
      );
    },

    issue: (repository, number, signal) =>
      open(signal).ask(below(repository, apiPath`/issues/${number}`), {
        shape: shapes.issue,
        what: `the issue ${number} of ${repository}`,
      }),

    issueComments: (repository, number, which, signal) => comments(open(signal), repository, number, which),
    addIssueComment: (repository, number, body, signal) => addComment(open(signal), repository, number, body),

    pullRequest: (repository, number, signal) =>
      open(signal).ask(below(repository, apiPath`/pulls/${number}`), {
        shape: shapes.pullRequest,
        what: `the pull request ${number} of ${repository}`,
      }),

    // Its conversation is that of the issue of the same number.
    pullRequestComments: (repository, number, which, signal) =>
      comments(open(signal), repository, number, which),
    addPullRequestComment: (repository, number, body, signal) =>
      addComment(open(signal), repository, number, body),

    reviewComments: (repository, number, signal) =>
      token
        ? reviewThreads(openGraph(signal), repository, number)
        : open(signal).ask(below(repository, apiPath`/pulls/${number}/comments`), {
            query: { per_page: 100 },
            shape: shapes.reviewComments,
            what: `the pull request ${number} of ${repository}`,
          }),

    openPullRequest: (repository, { title, body, head, base: into, isDraft }, signal) =>
      open(signal).ask(below(repository, '/pulls'), {
        method: 'POST',
        body: { title, body, head, base: into, draft: isDraft },
        shape: shapes.pullRequest,
        what: `a pull request in ${repository}`,
      }),

    async checks(repository, ref, signal) {
      const api = open(signal);
      const query = { per_page: 100 };
      const what = `the checks of ${ref} in ${repository}`;
      const [runs, statuses] = await Promise.all([
        api.ask(below(repository, apiPath`/commits/${ref}/check-runs`), {
          query,
          shape: shapes.checkRuns,
          what,
        }),
        api.ask(below(repository, apiPath`/commits/${ref}/status`), { query, shape: shapes.statuses, what }),
      ]);
      if (runs.kind !== 'ok') return runs;
      if (statuses.kind !== 'ok') return statuses;
      const checks: { name: string; state: CheckState; url: string | null }[] = [
        ...runs.value.check_runs,
        ...statuses.value.statuses,
      ];
      return ok({ state: overallState(checks), checks });
    },

    async ownPullRequests(signal) {
      const api = openGraph(signal);
      const what = 'your pull requests';
      if (!token) return failureOf(api.place, 'no_token', what);
      const query = { query: OWN_PULL_REQUESTS, variables: {}, shape: shapes.ownPullRequests, what };
      return mapAnswer(await askGraph(api, query), ({ viewer }) => viewer.pullRequests.nodes);
    },

    async assignedIssues(signal) {
      const asked = await open(signal).ask('/issues', {
        query: { filter: 'assigned', state: 'open', sort: 'updated', direction: 'desc', per_page: 100 },
        shape: shapes.assignedIssues,
        what: 'your issues',
      });
      return mapAnswer(asked, (list) =>
        list
          .filter(({ isIssue }) => isIssue)
          .slice(0, 50)
          .map(({ issue }) => issue),
      );
    },
  };
}

function roots(base: string): { rest: string; graph: string } {
  const { hostname, pathname } = new URL(base);
  const own = base === 'https://github.com' || (hostname.endsWith('.ghe.com') && pathname === '/');
  if (!own) return { rest: `${base}/api/v3`, graph: `${base}/api` };
  const api = base.replace('://', '://api.');
  return { rest: api, graph: api };
}

/** GitHub's repositories are `owner/name`; anything else is not there. */
function repositoryPath(repository: string) {
  const [owner, name, ...more] = repository.split('/');
  if (owner === undefined || name === undefined || more.length > 0) return null;
  return apiPath`/repos/${owner}/${name}`;
}

function below(repository: string, path: string | null) {
  const root = repositoryPath(repository);
  return root === null || path === null ? null : root + path;
}

function contentsPath(repository: string, path: string) {
  const segments = pathSegments(path);
  return below(repository, segments.length === 0 ? '/contents/' : apiPath`/contents/${segments}`);
}

/** The search has a language of its own: what would be a qualifier of it is a word. `owner/name` looks at that owner. */
function searchText(query: string): string | null {
  const words = query.replaceAll(/[^\p{L}\p{N}._/-]+/gu, ' ').trim();
  if (words === '') return null;
  const slash = words.indexOf('/');
  if (slash < 0) return `${words} in:name`;
  const owner = words.slice(0, slash).trim();
  const name = words
    .slice(slash + 1)
    .replaceAll('/', ' ')
    .trim();
  return `${name} in:name user:${owner.split(' ').at(-1) ?? ''}`.trim();
}

function paged<T>(told: Answer<Told<T[]>>): Answer<Page<T>> {
  return mapAnswer(told, ({ value, headers }) => ({ items: value, more: hasNext(headers), total: null }));
}

async function comments(api: Api, repository: string, number: number, { page, perPage }: PageOf) {
  const told = await api.tell(below(repository, apiPath`/issues/${number}/comments`), {
    query: { page, per_page: perPage },
    shape: shapes.comments,
    what: `the comments of ${number} in ${repository}`,
  });
  return paged(told);
}

function addComment(api: Api, repository: string, number: number, body: string) {
  return api.ask(below(repository, apiPath`/issues/${number}/comments`), {
    method: 'POST',
    body: { body },
    shape: shapes.comment,
    what: `a comment on ${number} in ${repository}`,
  });
}

/** Hundreds of branches that are looked through before a search gives up. */
const SEARCH_HOPS = 10;

/** Branches with the text anywhere in their names, which only GraphQL finds; its pages are reached one after another. */
async function searchBranches(
  api: Api,
  repository: string,
  query: string,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Branch>>> {
  const what = `the repository ${repository}`;
  if (repositoryPath(repository) === null) return failureOf(api.place, 'not_found', what);
  const [owner, name] = repository.split('/');
  const found: Branch[] = [];
  let after: string | null = null;
  for (let hop = 1; ; hop += 1) {
    const variables: Record<string, unknown> = { owner, name, query, after };
    const asked = await askGraph(api, { query: REFS, variables, shape: shapes.refsPage, what });
    if (asked.kind !== 'ok') return asked;
    const refs = asked.value.repository?.refs;
    if (!refs) return failureOf(api.place, 'not_found', what);
    for (const { name: branch, target, branchProtectionRule } of refs.nodes) {
      found.push({
        name: branch,
        commit: target?.oid ?? '',
        isProtected: branchProtectionRule !== null,
        pushedAt: target?.committedDate ?? null,
      });
    }
    after = refs.pageInfo.hasNextPage ? refs.pageInfo.endCursor : null;
    if (after === null || hop === SEARCH_HOPS || found.length > page * perPage) {
      const items = found.slice((page - 1) * perPage, page * perPage);
      return ok({ items, more: found.length > page * perPage, total: refs.totalCount });
    }
  }
}

/** Branches whose names begin with the text: all that can be searched without a token. */
async function branchesFrom(
  api: Api,
  repository: string,
  query: string,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Branch>>> {
  const asked = await api.ask(below(repository, apiPath`/git/matching-refs/heads/${query.split('/')}`), {
    shape: shapes.matchingRefs,
    what: `the repository ${repository}`,
  });
  return mapAnswer(asked, (refs) => ({
    items: refs
      .slice((page - 1) * perPage, page * perPage)
      .map((ref) => ({ ...ref, isProtected: false, pushedAt: null })),
    more: refs.length > page * perPage,
    total: refs.length,
  }));
}

async function reviewThreads(api: Api, repository: string, number: number): Promise<Answer<ReviewComment[]>> {
  const what = `the pull request ${number} of ${repository}`;
  if (repositoryPath(repository) === null) return failureOf(api.place, 'not_found', what);
  const [owner, name] = repository.split('/');
  const variables = { owner, name, number };
  const asked = await askGraph(api, { query: REVIEW_THREADS, variables, shape: shapes.reviewThreads, what });
  if (asked.kind !== 'ok') return asked;
  const request = asked.value.repository?.pullRequest;
  if (!request) return failureOf(api.place, 'not_found', what);
  return ok(
    request.reviewThreads.nodes.flatMap(({ isResolved, path, line, comments: said }) =>
      said.nodes.map(({ author, ...comment }) => ({
        ...comment,
        author: author?.login ?? null,
        path,
        line,
        isResolved,
      })),
    ),
  );
}

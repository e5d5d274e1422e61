import { Secret } from '../../secrets/secret.ts';
import type { ProviderAccess } from '../access.ts';
import { type Answer, mapAnswer, ok } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { apiPath, pathSegments } from '../api-path.ts';
import { Api } from '../api.ts';
import type {
  AssignedIssue,
  Branch,
  Checks,
  Comment,
  GitProvider,
  OwnPullRequest,
  Page,
  PageOf,
  RepositorySort,
  ReviewComment,
} from '../git-provider.ts';
import { hasNext } from '../link-header.ts';
import { overallState } from '../overall-state.ts';
import type { Reply } from '../reply.ts';
import { askEach } from '../side-by-side.ts';
import { contents, entriesIn, fileIn } from './github-like-contents.ts';
import * as like from './github-like-shapes.ts';
import * as shapes from './forgejo-shapes.ts';

/** Codeberg, or a Forgejo or Gitea of one's own, also below a path. */
export function forgejo({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const place = {
    name: 'Forgejo',
    root: `${base}/api/v1`,
    token,
    authorization: token && new Secret(`token ${token.unwrap()}`),
  };
  const open = (signal: AbortSignal) => new Api(place, fetch, signal, deadlineMs);
  const withToken = <T>(signal: AbortSignal, what: string, ask: (api: Api) => Promise<Answer<T>>) =>
    token ? ask(open(signal)) : Promise.resolve(failureOf(place, 'no_token', what));

  return {
    provider: 'forgejo',

    whoAmI: (signal) => open(signal).ask('/user', { shape: shapes.user, what: 'the account' }),

    owners: (signal) =>
      withToken(signal, 'the organisations', (api) =>
        api.ask('/user/orgs', {
          query: { limit: 100 },
          shape: shapes.organisations,
          what: 'the organisations',
        }),
      ),

    repositories: ({ sort, owner, ...which }, signal) =>
      withToken(signal, 'the repositories', async (api) => {
        if (owner !== null)
          return found(api, { uid: owner, exclusive: true, ...ORDER[sort], ...paging(which) });
        // /user/repos has what one owns, in no order; the search also has what one is let in to.
        const me = await api.ask('/user', { shape: shapes.user, what: 'the account' });
        if (me.kind !== 'ok') return me;
        return found(api, { uid: me.value.id, ...ORDER[sort], ...paging(which) });
      }),

    async searchRepositories({ query, sort, order, ...which }, signal) {
      const q = query.trim();
      if (q === '') return ok({ items: [], more: false, total: 0 });
      return found(open(signal), { q, sort, order, ...paging(which) });
    },

    repository: (repository, signal) =>
      open(signal).ask(below(repository, ''), {
        shape: shapes.repository,
        what: `the repository ${repository}`,
      }),

    branches: (repository, { query, ...which }, signal) =>
      query
        ? searchBranches(open(signal), repository, query, which)
        : branches(open(signal), repository, which),

    async file(repository, path, ref, signal) {
      const what = `the file ${path} in ${repository}`;
      return fileIn(await contentsAt(open(signal), repository, { path, ref, what }), place, { path, what });
    },

    async folder(repository, path, ref, signal) {
      const what = `the folder ${path || '/'} in ${repository}`;
      return entriesIn(await contentsAt(open(signal), repository, { path, ref, what }), place, { what });
    },

    issue: (repository, number, signal) =>
      open(signal).ask(below(repository, apiPath`/issues/${number}`), {
        shape: like.issue,
        what: `the issue ${number} of ${repository}`,
      }),

    issueComments: (repository, number, which, signal) => comments(open(signal), repository, number, which),
    addIssueComment: (repository, number, body, signal) => addComment(open(signal), repository, number, body),

    pullRequest: async (repository, number, signal) =>
      mapAnswer(await pullRequest(open(signal), repository, number), ({ request }) => request),

    // Its conversation is that of the issue of the same number.
    pullRequestComments: (repository, number, which, signal) =>
      comments(open(signal), repository, number, which),
    addPullRequestComment: (repository, number, body, signal) =>
      addComment(open(signal), repository, number, body),

    reviewComments: async (repository, number, signal) =>
      mapAnswer(await reviewed(open(signal), repository, number), (review) => review.comments),

    async openPullRequest(repository, { title, body, head, base: into, isDraft }, signal) {
      const asked = await open(signal).ask(below(repository, '/pulls'), {
        method: 'POST',
        // Forgejo has no other sign for a draft.
        body: { title: isDraft ? `WIP: ${title}` : title, body, head, base: into },
        shape: shapes.pullRequest,
        what: `a pull request in ${repository}`,
      });
      return mapAnswer(asked, ({ request }) => request);
    },

    checks: (repository, ref, signal) => checks(open(signal), repository, ref),

    ownPullRequests: (signal) =>
      withToken(signal, 'your pull requests', async (api) => {
        const own = await issues(api, { type: 'pulls', created: true, limit: OWN });
        return own.kind === 'ok' ? askEach(own.value, (one) => ownPullRequest(api, one)) : own;
      }),

    assignedIssues: (signal) =>
      withToken(signal, 'your issues', (api) => issues(api, { type: 'issues', assigned: true, limit: 50 })),
  };
}

/** Own pull requests that are looked at: each costs four requests. */
const OWN = 20;

const ORDER: Readonly<Record<RepositorySort, { sort: string; order: string }>> = {
  pushed: { sort: 'updated', order: 'desc' },
  updated: { sort: 'updated', order: 'desc' },
  created: { sort: 'created', order: 'desc' },
  full_name: { sort: 'alpha', order: 'asc' },
};

function paging({ page, perPage }: PageOf) {
  return { page, limit: perPage };
}

function totalOf(headers: Reply['headers']): number | null {
  const total = headers.get('x-total-count');
  return total !== undefined && /^\d{1,9}$/.test(total) ? Number(total) : null;
}

function below(repository: string, path: string | null) {
  const [owner, name, ...more] = repository.split('/');
  if (owner === undefined || name === undefined || more.length > 0 || path === null) return null;
  const root = apiPath`/repos/${owner}/${name}`;
  return root === null ? null : root + path;
}

function contentsAt(
  api: Api,
  repository: string,
  { path, ref, what }: { path: string; ref: string | null; what: string },
) {
  const segments = pathSegments(path);
  const address = below(repository, segments.length === 0 ? '/contents' : apiPath`/contents/${segments}`);
  return api.ask(address, { query: { ref }, shape: contents, what });
}

async function found(api: Api, query: Record<string, string | number | boolean>) {
  const told = await api.tell('/repos/search', {
    query,
    shape: shapes.foundRepositories,
    what: 'the repositories',
  });
  return mapAnswer(told, ({ value, headers }) => ({
    items: value.data,
    more: hasNext(headers.get('link')),
    total: totalOf(headers),
  }));
}

async function branches(api: Api, repository: string, which: PageOf): Promise<Answer<Page<Branch>>> {
  const told = await api.tell(below(repository, '/branches'), {
    query: paging(which),
    shape: shapes.branches,
    what: `the repository ${repository}`,
  });
  return mapAnswer(told, ({ value, headers }) => ({
    items: value,
    more: hasNext(headers.get('link')),
    total: totalOf(headers),
  }));
}

/** Pages of branches, 50 each, that are looked through before a search gives up. */
const SEARCH_PAGES = 10;

/** Forgejo does not search branches. */
async function searchBranches(
  api: Api,
  repository: string,
  query: string,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Branch>>> {
  const all: Branch[] = [];
  for (let at = 1; at <= SEARCH_PAGES && all.length <= page * perPage; at += 1) {
    const listed = await branches(api, repository, { page: at, perPage: 50 });
    if (listed.kind !== 'ok') return listed;
    all.push(...listed.value.items.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase())));
    if (!listed.value.more) break;
  }
  const items = all.slice((page - 1) * perPage, page * perPage);
  return ok({ items, more: all.length > page * perPage, total: null });
}

/** Forgejo gives all comments at once. */
async function comments(
  api: Api,
  repository: string,
  number: number,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Comment>>> {
  const asked = await api.ask(below(repository, apiPath`/issues/${number}/comments`), {
    shape: like.comments,
    what: `the comments of ${number} in ${repository}`,
  });
  return mapAnswer(asked, (all) => ({
    items: all.slice((page - 1) * perPage, page * perPage),
    more: all.length > page * perPage,
    total: all.length,
  }));
}

function addComment(api: Api, repository: string, number: number, body: string) {
  return api.ask(below(repository, apiPath`/issues/${number}/comments`), {
    method: 'POST',
    body: { body },
    shape: like.comment,
    what: `a comment on ${number} in ${repository}`,
  });
}

function pullRequest(api: Api, repository: string, number: number) {
  return api.ask(below(repository, apiPath`/pulls/${number}`), {
    shape: shapes.pullRequest,
    what: `the pull request ${number} of ${repository}`,
  });
}

/** What reviewers said, of at most 50 reviews, and whether one of them asks for changes. */
async function reviewed(
  api: Api,
  repository: string,
  number: number,
): Promise<Answer<{ comments: ReviewComment[]; asksForChanges: boolean }>> {
  const what = `the pull request ${number} of ${repository}`;
  const reviews = await api.ask(below(repository, apiPath`/pulls/${number}/reviews`), {
    query: { limit: 50 },
    shape: shapes.reviews,
    what,
  });
  if (reviews.kind !== 'ok') return reviews;
  const withComments = reviews.value.filter((review) => review.comments_count !== 0);
  const said = await askEach(withComments, ({ id }) =>
    api.ask(below(repository, apiPath`/pulls/${number}/reviews/${id}/comments`), {
      shape: shapes.reviewComments,
      what,
    }),
  );
  return mapAnswer(said, (lists) => ({
    comments: lists.flat(),
    asksForChanges: reviews.value.some(({ state, dismissed }) => state === 'REQUEST_CHANGES' && !dismissed),
  }));
}

async function checks(api: Api, repository: string, ref: string): Promise<Answer<Checks>> {
  const asked = await api.ask(below(repository, apiPath`/commits/${ref}/status`), {
    shape: shapes.combinedStatus,
    what: `the checks of ${ref} in ${repository}`,
  });
  return mapAnswer(asked, ({ statuses }) => ({
    state: overallState(statuses ?? []),
    checks: statuses ?? [],
  }));
}

function issues(
  api: Api,
  query: Record<string, string | number | boolean>,
): Promise<Answer<AssignedIssue[]>> {
  return api.ask('/repos/issues/search', {
    query: { ...query, state: 'open' },
    shape: shapes.foundIssues,
    what: 'your issues and pull requests',
  });
}

async function ownPullRequest(
  api: Api,
  { repository, number, title }: AssignedIssue,
): Promise<Answer<OwnPullRequest>> {
  const request = await pullRequest(api, repository, number);
  if (request.kind !== 'ok') return request;
  const { commit, branch } = request.value.request.head;
  const [review, standing] = await Promise.all([
    reviewed(api, repository, number),
    checks(api, repository, commit ?? branch),
  ]);
  if (review.kind !== 'ok') return review;
  if (standing.kind !== 'ok') return standing;
  return ok({
    repository,
    number,
    title,
    hasConflicts: request.value.hasConflicts,
    hasFailingChecks: standing.value.state === 'failure',
    hasUnresolvedComments:
      review.value.asksForChanges || review.value.comments.some(({ isResolved }) => isResolved === false),
  });
}

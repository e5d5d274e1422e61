import type { ProviderAccess } from '../access.ts';
import { type Answer, mapAnswer, ok } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { Exchange } from '../exchange.ts';
import type { Branch, CheckState, GitProvider, Page, PageOf, ReviewComment } from '../git-provider.ts';
import { Secret } from '../../secrets/secret.ts';
import { overallState } from '../overall-state.ts';
import { contents, entriesIn, fileIn } from './github-like-contents.ts';
import { ownPullRequests, reviewThreads, searchBranches } from './github-graphql.ts';
import { Github, within } from './github-octokit.ts';
import * as like from './github-like-shapes.ts';
import * as shapes from './github-shapes.ts';

/** GitHub's own service, GitHub Enterprise Cloud with data residency (`NAME.ghe.com`), or an Enterprise Server. */
export function github({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const { root, rest } = addresses(base);
  const place = {
    name: 'GitHub',
    root,
    token,
    authorization: token && new Secret(`Bearer ${token.unwrap()}`),
    accept: 'application/vnd.github+json',
    // Enterprise Servers know this version, too; it is supported to March 2028 at least.
    headers: { 'x-github-api-version': '2022-11-28' },
  };
  const open = (signal: AbortSignal) => new Github(new Exchange(place, fetch, signal, deadlineMs), rest);

  return {
    provider: 'github',

    whoAmI: (signal) => open(signal).ask('GET /user', {}, { shape: shapes.user, what: 'the account' }),

    owners: (signal) =>
      open(signal).ask(
        'GET /user/orgs',
        { per_page: 100 },
        {
          shape: shapes.organisations,
          what: 'the organisations',
        },
      ),

    async repositories({ sort, owner, ...which }, signal) {
      const api = open(signal);
      const order = { sort, direction: sort === 'full_name' ? 'asc' : 'desc', ...paging(which) } as const;
      const what = owner === null ? 'the repositories' : `the repositories of ${owner}`;
      const question = { shape: shapes.repositories, what };
      return paged(
        await (owner === null
          ? api.tell('GET /user/repos', order, question)
          : api.tell('GET /orgs/{org}/repos', { org: owner, ...order }, question)),
      );
    },

    async searchRepositories({ query, sort, order, ...which }, signal) {
      const q = searchText(query);
      if (q === null) return ok({ items: [], more: false, total: 0 });
      const told = await open(signal).tell(
        'GET /search/repositories',
        { q, sort, order, ...paging(which) },
        { shape: shapes.foundRepositories, what: 'repositories' },
      );
      // An owner that is not there is an error to GitHub; here nothing was found.
      if (told.kind === 'rejected' && q.includes('user:')) return ok({ items: [], more: false, total: 0 });
      return mapAnswer(told, ({ value, more }) => ({ items: value.items, more, total: value.total_count }));
    },

    repository: (repository, signal) =>
      open(signal).ask('GET /repos/{owner}/{repo}', within(repository, {}), {
        shape: shapes.repository,
        what: `the repository ${repository}`,
      }),

    async branches(repository, { query, ...which }, signal) {
      if (query !== null && query !== '') {
        return (token ? searchBranches : branchesFrom)(open(signal), repository, query, which);
      }
      return paged(
        await open(signal).tell('GET /repos/{owner}/{repo}/branches', within(repository, paging(which)), {
          shape: shapes.branches,
          what: `the repository ${repository}`,
        }),
      );
    },

    async file(repository, path, ref, signal) {
      const what = `the file ${path} in ${repository}`;
      return fileIn(await contentsAt(open(signal), repository, { path, ref, what }), place, { path, what });
    },

    async folder(repository, path, ref, signal) {
      const what = `the folder ${path || '/'} in ${repository}`;
      return entriesIn(await contentsAt(open(signal), repository, { path, ref, what }), place, { what });
    },

    issue: (repository, number, signal) =>
      open(signal).ask(
        'GET /repos/{owner}/{repo}/issues/{issue_number}',
        within(repository, { issue_number: number }),
        { shape: like.issue, what: `the issue ${number} of ${repository}` },
      ),

    issueComments: (repository, number, which, signal) => comments(open(signal), repository, number, which),
    addIssueComment: (repository, number, body, signal) => addComment(open(signal), repository, number, body),

    pullRequest: (repository, number, signal) =>
      open(signal).ask(
        'GET /repos/{owner}/{repo}/pulls/{pull_number}',
        within(repository, { pull_number: number }),
        { shape: shapes.pullRequest, what: `the pull request ${number} of ${repository}` },
      ),

    // Its conversation is that of the issue of the same number.
    pullRequestComments: (repository, number, which, signal) =>
      comments(open(signal), repository, number, which),
    addPullRequestComment: (repository, number, body, signal) =>
      addComment(open(signal), repository, number, body),

    reviewComments: (repository, number, signal) =>
      (token ? reviewThreads : reviewComments)(open(signal), repository, number),

    openPullRequest: (repository, { isDraft, ...request }, signal) =>
      open(signal).ask(
        'POST /repos/{owner}/{repo}/pulls',
        within(repository, { ...request, draft: isDraft }),
        { shape: shapes.pullRequest, what: `a pull request in ${repository}` },
      ),

    async checks(repository, ref, signal) {
      const api = open(signal);
      const what = `the checks of ${ref} in ${repository}`;
      const of = within(repository, { ref, per_page: 100 });
      const [runs, statuses] = await Promise.all([
        api.ask('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', of, { shape: shapes.checkRuns, what }),
        api.ask('GET /repos/{owner}/{repo}/commits/{ref}/status', of, { shape: shapes.statuses, what }),
      ]);
      if (runs.kind !== 'ok') return runs;
      if (statuses.kind !== 'ok') return statuses;
      const checks: { name: string; state: CheckState; url: string | null }[] = [
        ...runs.value.check_runs,
        ...statuses.value.statuses,
      ];
      return ok({ state: overallState(checks), checks });
    },

    ownPullRequests: (signal) =>
      token
        ? ownPullRequests(open(signal))
        : Promise.resolve(failureOf(place, 'no_token', 'your pull requests')),

    async assignedIssues(signal) {
      const asked = await open(signal).ask(
        'GET /issues',
        { filter: 'assigned', state: 'open', sort: 'updated', direction: 'desc', per_page: 100 },
        { shape: shapes.assignedIssues, what: 'your issues' },
      );
      return mapAnswer(asked, (list) =>
        list
          .filter(({ isIssue }) => isIssue)
          .slice(0, 50)
          .map(({ issue }) => issue),
      );
    },
  };
}

/** Below what all of it is asked, and where the REST API is. */
function addresses(base: string): { root: string; rest: string } {
  const { hostname, pathname } = new URL(base);
  const own = base === 'https://github.com' || (hostname.endsWith('.ghe.com') && pathname === '/');
  if (!own) return { root: `${base}/api`, rest: `${base}/api/v3` };
  const api = base.replace('://', '://api.');
  return { root: api, rest: api };
}

function contentsAt(
  api: Github,
  repository: string,
  { path, ref, what }: { path: string; ref: string | null; what: string },
) {
  const at = within(repository, { path, ...(ref !== null && { ref }) });
  return api.ask('GET /repos/{owner}/{repo}/contents/{path}', at, { shape: contents, what });
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

function paging({ page, perPage }: PageOf) {
  return { page, per_page: perPage };
}

function paged<T>(told: Answer<{ value: T[]; more: boolean }>): Answer<Page<T>> {
  return mapAnswer(told, ({ value, more }) => ({ items: value, more, total: null }));
}

async function comments(api: Github, repository: string, number: number, which: PageOf) {
  const told = await api.tell(
    'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
    within(repository, { issue_number: number, ...paging(which) }),
    { shape: like.comments, what: `the comments of ${number} in ${repository}` },
  );
  return paged(told);
}

function addComment(api: Github, repository: string, number: number, body: string) {
  return api.ask(
    'POST /repos/{owner}/{repo}/issues/{issue_number}/comments',
    within(repository, { issue_number: number, body }),
    { shape: like.comment, what: `a comment on ${number} in ${repository}` },
  );
}

/** Branches whose names begin with the text: all that can be searched without a token. */
async function branchesFrom(
  api: Github,
  repository: string,
  query: string,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Branch>>> {
  const asked = await api.ask(
    'GET /repos/{owner}/{repo}/git/matching-refs/{ref}',
    within(repository, { ref: `heads/${query}` }),
    { shape: shapes.matchingRefs, what: `the repository ${repository}` },
  );
  return mapAnswer(asked, (refs) => ({
    items: refs
      .slice((page - 1) * perPage, page * perPage)
      .map((ref) => ({ ...ref, isProtected: false, pushedAt: null })),
    more: refs.length > page * perPage,
    total: refs.length,
  }));
}

/** What reviewers say of lines, for who has no token: whether it is resolved is not said. */
function reviewComments(api: Github, repository: string, number: number): Promise<Answer<ReviewComment[]>> {
  return api.ask(
    'GET /repos/{owner}/{repo}/pulls/{pull_number}/comments',
    within(repository, { pull_number: number, per_page: 100 }),
    { shape: shapes.reviewComments, what: `the pull request ${number} of ${repository}` },
  );
}

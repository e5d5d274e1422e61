import { Secret } from '../../secrets/secret.ts';
import type { ProviderAccess } from '../access.ts';
import { type Answer, mapAnswer, ok } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { apiPath, pathSegments } from '../api-path.ts';
import { Api } from '../api.ts';
import { basic } from '../basic.ts';
import { FILE_BYTES, tooLarge } from '../file-content.ts';
import type { Comment, FolderEntry, GitProvider, Page, PageOf, ReviewComment } from '../git-provider.ts';
import { overallState } from '../overall-state.ts';
import { ORDER, ownPullRequests, repositoriesOf, statuses, workspaces } from './bitbucket-own.ts';
import { below, quoted } from './bitbucket-paths.ts';
import * as shapes from './bitbucket-shapes.ts';

/** Bitbucket Cloud. A token is an access token, or `email:API token`. */
export function bitbucket({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const place = {
    name: 'Bitbucket',
    root: `${base === 'https://bitbucket.org' ? 'https://api.bitbucket.org' : base}/2.0`,
    token,
    authorization: token && authorizationOf(token.unwrap()),
  };
  const open = (signal: AbortSignal) => new Api(place, fetch, signal, deadlineMs);
  const withToken = <T>(signal: AbortSignal, what: string, ask: (api: Api) => Promise<Answer<T>>) =>
    token ? ask(open(signal)) : Promise.resolve(failureOf(place, 'no_token', what));
  const noIssues = () =>
    Promise.resolve({
      kind: 'unsupported',
      message: 'Bitbucket has no issues: they were removed in August 2026. Its teams use Jira.',
    } as const);

  return {
    provider: 'bitbucket',

    whoAmI: (signal) => open(signal).ask('/user', { shape: shapes.user, what: 'the account' }),

    owners: (signal) => withToken(signal, 'the workspaces', workspaces),

    repositories: ({ sort, owner, ...which }, signal) =>
      withToken(signal, 'the repositories', async (api) => {
        const owners = owner === null ? await workspaces(api) : ok([{ id: owner }]);
        if (owners.kind !== 'ok') return owners;
        const ids = owners.value.map(({ id }) => id);
        return repositoriesOf(api, ids, { ...which, sort: ORDER[sort], filter: null });
      }),

    searchRepositories({ query, order, page, perPage }, signal) {
      return withToken(signal, 'the repositories', async (api) => {
        const [, workspace, name = ''] = /^(?:(.*)\/)?(.*)$/.exec(query.trim()) ?? [];
        const owners = workspace ? ok([{ id: workspace }]) : await workspaces(api);
        if (owners.kind !== 'ok') return owners;
        const ids = owners.value.map(({ id }) => id);
        const filter = name === '' ? null : `name ~ ${quoted(name)}`;
        return repositoriesOf(api, ids, {
          page,
          perPage,
          sort: order === 'asc' ? 'updated_on' : '-updated_on',
          filter,
        });
      });
    },

    repository: (repository, signal) => repositoryOf(open(signal), repository),

    async branches(repository, { query, page, perPage }, signal) {
      return open(signal).ask(below(repository, '/refs/branches'), {
        query: { q: query ? `name ~ ${quoted(query)}` : null, sort: 'name', page, pagelen: perPage },
        shape: shapes.branches,
        what: `the repository ${repository}`,
      });
    },

    async file(repository, path, ref, signal) {
      const api = open(signal);
      const what = `the file ${path} in ${repository}`;
      const at = await sourceOf(api, repository, path, ref, what);
      if (at.kind !== 'ok') return at;
      if (at.value.type !== 'commit_file') return failureOf(place, 'not_found', what);
      if ((at.value.size ?? 0) > FILE_BYTES) return tooLarge(what);
      return mapAnswer(await api.text(at.value.address, { what }), (content) => ({ path, content }));
    },

    async folder(repository, path, ref, signal) {
      const api = open(signal);
      const what = `the folder ${path || '/'} in ${repository}`;
      const at = await sourceOf(api, repository, path, ref, what);
      if (at.kind !== 'ok') return at;
      return at.value.type === 'commit_directory'
        ? entries(api, `${at.value.address}/`, what)
        : failureOf(place, 'not_found', what);
    },

    issue: noIssues,
    issueComments: noIssues,
    addIssueComment: noIssues,
    assignedIssues: noIssues,

    pullRequest: async (repository, number, signal) =>
      mapAnswer(
        await open(signal).ask(below(repository, apiPath`/pullrequests/${number}`), {
          shape: shapes.pullRequest,
          what: `the pull request ${number} of ${repository}`,
        }),
        ({ request }) => request,
      ),

    pullRequestComments: (repository, number, which, signal) => talk(open(signal), repository, number, which),

    addPullRequestComment: async (repository, number, body, signal) =>
      mapAnswer(
        await open(signal).ask(below(repository, apiPath`/pullrequests/${number}/comments`), {
          method: 'POST',
          body: { content: { raw: body } },
          shape: shapes.comment,
          what: `a comment on ${number} in ${repository}`,
        }),
        ({ comment }) => comment,
      ),

    reviewComments: (repository, number, signal) => reviewComments(open(signal), repository, number),

    async openPullRequest(repository, { title, body, head, base: into, isDraft }, signal) {
      const api = open(signal);
      const what = `a pull request in ${repository}`;
      // Bitbucket would write over one that is there.
      const q = `source.branch.name = ${quoted(head)} AND destination.branch.name = ${quoted(into)} AND state = "OPEN"`;
      const there = await api.ask(below(repository, '/pullrequests'), {
        query: { q, pagelen: 1 },
        shape: shapes.pullRequests,
        what,
      });
      if (there.kind !== 'ok') return there;
      const [first] = there.value.items;
      if (first) {
        const message = `Pull request ${first.request.number} already exists for ${head} in ${repository}.`;
        return { kind: 'rejected', message };
      }
      const made = await api.ask(below(repository, '/pullrequests'), {
        method: 'POST',
        body: {
          title,
          description: body,
          source: { branch: { name: head } },
          destination: { branch: { name: into } },
          draft: isDraft,
        },
        shape: shapes.pullRequest,
        what,
      });
      return mapAnswer(made, ({ request }) => request);
    },

    async checks(repository, ref, signal) {
      const api = open(signal);
      const commit = await commitOf(api, repository, ref, `the pipelines of ${ref} in ${repository}`);
      if (commit.kind !== 'ok') return commit;
      return mapAnswer(await statuses(api, repository, commit.value), (checks) => ({
        state: overallState(checks),
        checks,
      }));
    },

    ownPullRequests: (signal) => withToken(signal, 'your pull requests', ownPullRequests),
  };
}

function authorizationOf(token: string): Secret {
  return token.includes(':') ? basic(token) : new Secret(`Bearer ${token}`);
}

async function repositoryOf(api: Api, repository: string) {
  const asked = await api.ask(below(repository, ''), {
    shape: shapes.repository,
    what: `the repository ${repository}`,
  });
  return mapAnswer(asked, (given) => given.repository);
}

/** A branch or tag may have a slash in its name, which the paths of files have no place for: a commit has none. */
async function commitOf(
  api: Api,
  repository: string,
  ref: string | null,
  what: string,
): Promise<Answer<string>> {
  if (ref !== null && /^([0-9a-f]{12}|[0-9a-f]{40})$/.test(ref)) return ok(ref);
  const name = ref === null ? await repositoryOf(api, repository) : ok({ defaultBranch: ref });
  if (name.kind !== 'ok') return name;
  const { defaultBranch } = name.value;
  if (defaultBranch === null) return failureOf(api.place, 'not_found', what);
  const found = await api.ask(below(repository, '/refs'), {
    query: { q: `name = ${quoted(defaultBranch)}`, pagelen: 10 },
    shape: shapes.refs,
    what,
  });
  if (found.kind !== 'ok') return found;
  const { items } = found.value;
  const branch = items.find(({ type }) => type === 'branch') ?? items[0];
  return branch ? ok(branch.target.hash) : failureOf(api.place, 'not_found', what);
}

/** What lies at a path, and where that is asked for. */
async function sourceOf(
  api: Api,
  repository: string,
  path: string,
  ref: string | null,
  what: string,
): Promise<Answer<{ type: string; size: number | null; address: string }>> {
  const segments = pathSegments(path);
  const isPath = segments.length === 0 || apiPath`${segments}` !== null;
  if (!isPath) return failureOf(api.place, 'not_found', what);
  const commit = await commitOf(api, repository, ref, what);
  if (commit.kind !== 'ok') return commit;
  const address = below(
    repository,
    segments.length === 0 ? apiPath`/src/${commit.value}` : apiPath`/src/${commit.value}/${segments}`,
  );
  if (address === null) return failureOf(api.place, 'not_found', what);
  if (segments.length === 0) return ok({ type: 'commit_directory', size: null, address });
  const meta = await api.ask(address, { query: { format: 'meta' }, shape: shapes.meta, what });
  return mapAnswer(meta, ({ type, size }) => ({ type, size: size ?? null, address }));
}

const ENTRIES = 1_000;

/** Pages of files have names, not numbers: the next one's stands in its address. */
async function entries(api: Api, address: string, what: string): Promise<Answer<FolderEntry[]>> {
  const found: FolderEntry[] = [];
  let page: string | null = null;
  do {
    const query: { pagelen: number; page: string | null } = { pagelen: 100, page };
    const asked = await api.ask(address, { query, shape: shapes.entries, what });
    if (asked.kind !== 'ok') return asked;
    for (const { type, path } of asked.value.items) {
      const kind = type === 'commit_directory' ? 'folder' : 'file';
      found.push({ name: path.split('/').at(-1) ?? '', path, kind });
    }
    page = asked.value.items.length === 0 ? null : pageIn(asked.value.next);
  } while (page !== null && found.length < ENTRIES);
  return ok(found.slice(0, ENTRIES));
}

function pageIn(next: string | null): string | null {
  return next === null ? null : (URL.parse(next)?.searchParams.get('page') ?? null);
}

function commentsOf(api: Api, repository: string, number: number, { page, perPage }: PageOf) {
  return api.ask(below(repository, apiPath`/pullrequests/${number}/comments`), {
    query: { sort: 'created_on', page, pagelen: perPage },
    shape: shapes.comments,
    what: `the comments of ${number} in ${repository}`,
  });
}

async function talk(
  api: Api,
  repository: string,
  number: number,
  which: PageOf,
): Promise<Answer<Page<Comment>>> {
  return mapAnswer(await commentsOf(api, repository, number, which), ({ items, more }) => ({
    items: items.filter(({ place, isDeleted }) => place === null && !isDeleted).map(({ comment }) => comment),
    more,
    total: null,
  }));
}

/** A thread is resolved at its first comment. */
async function reviewComments(
  api: Api,
  repository: string,
  number: number,
): Promise<Answer<ReviewComment[]>> {
  const asked = await commentsOf(api, repository, number, { page: 1, perPage: 100 });
  return mapAnswer(asked, ({ items }) => {
    const resolved = new Set<string>();
    const found: ReviewComment[] = [];
    for (const { comment, place, parent, isResolved, isDeleted } of items) {
      if (isResolved || (parent !== null && resolved.has(parent))) resolved.add(comment.id);
      if (place === null || isDeleted) continue;
      found.push({ ...comment, ...place, isResolved: resolved.has(comment.id) });
    }
    return found;
  });
}

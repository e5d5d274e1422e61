import { Secret } from '../../secrets/secret.ts';
import type { ProviderAccess } from '../access.ts';
import { type Answer, mapAnswer, ok } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { isPath } from '../api-path.ts';
import { Exchange } from '../exchange.ts';
import { decodedFile } from '../file-content.ts';
import type { FolderEntry, GitProvider, OwnPullRequest, Page, PageOf } from '../git-provider.ts';
import { overallState } from '../overall-state.ts';
import { jsonIn } from '../reply.ts';
import { ask, within } from './gitlab-gitbeaker.ts';
import * as shapes from './gitlab-shapes.ts';

/** GitLab's own service or one of one's own, also below a path. */
export function gitlab({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const place = {
    name: 'GitLab',
    root: `${base}/api`,
    token,
    authorization: token && new Secret(`Bearer ${token.unwrap()}`),
  };
  const open = (signal: AbortSignal) => new Exchange(place, fetch, signal, deadlineMs);
  /** Of what GitLab would show somebody else's to who has no token. */
  const withToken = <T>(signal: AbortSignal, what: string, own: (gitlab: Exchange) => Promise<Answer<T>>) =>
    token ? own(open(signal)) : Promise.resolve(failureOf(place, 'no_token', what));

  return {
    provider: 'gitlab',

    whoAmI: (signal) =>
      ask(open(signal), ({ Users }, at) => new Users(at).showCurrentUser(), {
        shape: shapes.user,
        what: 'the account',
      }),

    owners: (signal) =>
      withToken(signal, 'the groups', (exchange) =>
        ask(
          exchange,
          ({ Groups }, at) => new Groups(at).all<false, 'offset'>({ minAccessLevel: 10, perPage: 100 }),
          { shape: shapes.groups, what: 'the groups' },
        ),
      ),

    repositories: ({ sort, owner, ...which }, signal) => {
      const what = owner === null ? 'the projects' : `the projects of ${owner}`;
      const listed = { ...ORDER[sort], ...which, showExpanded: true } as const;
      return withToken(signal, what, (exchange) =>
        ask(
          exchange,
          ({ Groups, Projects }, at) =>
            owner === null
              ? new Projects(at).all<true, 'offset'>({ membership: true, ...listed })
              : new Groups(at).allProjects(owner, { includeSubgroups: true, ...listed }),
          { shape: shapes.projects, what },
        ),
      );
    },

    async searchRepositories({ query, sort, order, ...which }, signal) {
      const search = query.trim();
      if (search === '') return ok({ items: [], more: false, total: 0 });
      // Gitbeaker's types do not know star_count.
      const ordered = { order_by: sort === 'stars' ? 'star_count' : 'last_activity_at', sort: order };
      return await ask(
        open(signal),
        ({ Projects }, at) =>
          new Projects(at).all<true, 'offset'>({
            search,
            ...(search.includes('/') && { searchNamespaces: true }),
            ...ordered,
            ...which,
            showExpanded: true,
          }),
        { shape: shapes.projects, what: 'projects' },
      );
    },

    repository: (repository, signal) =>
      ask(
        open(signal),
        within(repository, ({ Projects }, at) => new Projects(at).show(repository)),
        {
          shape: shapes.project,
          what: `the project ${repository}`,
        },
      ),

    branches: (repository, { query, ...which }, signal) =>
      ask(
        open(signal),
        within(repository, ({ Branches }, at) =>
          new Branches(at).all(repository, { ...(query && { search: query }), ...which, showExpanded: true }),
        ),
        { shape: shapes.branches, what: `the project ${repository}` },
      ),

    async file(repository, path, ref, signal) {
      const what = `the file ${path} in ${repository}`;
      const asked = await ask(
        open(signal),
        within(repository, ({ RepositoryFiles }, at) =>
          new RepositoryFiles(at).show(repository, path, ref ?? 'HEAD'),
        ),
        { shape: shapes.file, what },
      );
      if (asked.kind !== 'ok') return asked;
      return decodedFile(path, asked.value.encoding === 'base64' ? asked.value.content : undefined, what);
    },

    folder: (repository, path, ref, signal) => folder(open(signal), repository, path, ref),

    issue: (repository, number, signal) =>
      ask(
        open(signal),
        within(repository, ({ Issues }, at) => new Issues(at).show(number, { projectId: repository })),
        { shape: shapes.issue, what: `the issue ${number} of ${repository}` },
      ),

    issueComments: (repository, number, which, signal) =>
      ask(
        open(signal),
        within(repository, ({ IssueNotes }, at) =>
          new IssueNotes(at).all(repository, number, oldestFirst(which)),
        ),
        { shape: shapes.notes, what: `the comments in ${repository}` },
      ),
    addIssueComment: (repository, number, body, signal) =>
      ask(
        open(signal),
        within(repository, ({ IssueNotes }, at) => new IssueNotes(at).create(repository, number, body)),
        { shape: shapes.comment, what: `a comment in ${repository}` },
      ),

    pullRequest: (repository, number, signal) =>
      ask(
        open(signal),
        within(repository, ({ MergeRequests }, at) => new MergeRequests(at).show(repository, number)),
        { shape: shapes.mergeRequest, what: `the merge request ${number} of ${repository}` },
      ),

    pullRequestComments: (repository, number, which, signal) =>
      ask(
        open(signal),
        within(repository, ({ MergeRequestNotes }, at) =>
          new MergeRequestNotes(at).all(repository, number, oldestFirst(which)),
        ),
        { shape: shapes.notes, what: `the comments in ${repository}` },
      ),
    addPullRequestComment: (repository, number, body, signal) =>
      ask(
        open(signal),
        within(repository, ({ MergeRequestNotes }, at) =>
          new MergeRequestNotes(at).create(repository, number, body),
        ),
        { shape: shapes.comment, what: `a comment in ${repository}` },
      ),

    reviewComments: (repository, number, signal) =>
      ask(
        open(signal),
        within(repository, ({ MergeRequestDiscussions }, at) =>
          new MergeRequestDiscussions(at).all(repository, number, { page: 1, perPage: 100 }),
        ),
        { shape: shapes.reviewComments, what: `the merge request ${number} of ${repository}` },
      ),

    openPullRequest: (repository, { title, body, head, base: into, isDraft }, signal) =>
      ask(
        open(signal),
        within(repository, ({ MergeRequests }, at) =>
          new MergeRequests(at).create(repository, head, into, isDraft ? `Draft: ${title}` : title, {
            description: body,
          }),
        ),
        { shape: shapes.mergeRequest, what: `a merge request in ${repository}` },
      ),

    async checks(repository, ref, signal) {
      const exchange = open(signal);
      const what = `the pipelines of ${ref} in ${repository}`;
      // Gitbeaker's types do not know that they are paged.
      const most = { perPage: 100 };
      // Statuses are asked for by commit alone, which a branch has to be found for.
      const commit = await ask(
        exchange,
        within(repository, ({ Commits }, at) => new Commits(at).show(repository, ref)),
        { shape: shapes.commit, what },
      );
      if (commit.kind !== 'ok') return commit;
      const statuses = await ask(
        exchange,
        ({ Commits }, at) =>
          new Commits(at).allStatuses(repository, commit.value.id, { all: false, ...most }),
        { shape: shapes.statuses, what },
      );
      return mapAnswer(statuses, (checks) => ({ state: overallState(checks), checks }));
    },

    ownPullRequests: (signal) => withToken(signal, 'your merge requests', ownMergeRequests),

    assignedIssues: (signal) =>
      withToken(signal, 'your issues', (exchange) =>
        ask(
          exchange,
          ({ Issues }, at) =>
            new Issues(at).all({
              scope: 'assigned_to_me',
              state: 'opened',
              orderBy: 'updated_at',
              sort: 'desc',
              page: 1,
              perPage: 50,
            }),
          { shape: shapes.assignedIssues, what: 'your issues' },
        ),
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

/** Gitbeaker has no GraphQL; by the REST API it would be three requests for each. */
async function ownMergeRequests(exchange: Exchange): Promise<Answer<OwnPullRequest[]>> {
  const subject = { what: 'your merge requests', isSearch: true };
  const url = `${exchange.place.root}/graphql`;
  const body = JSON.stringify({ query: OWN_MERGE_REQUESTS });
  const sent = await exchange.send({ method: 'POST', url, body }, subject);
  if (sent.kind !== 'ok') return sent;
  return exchange.read(jsonIn(sent.value.text), shapes.ownMergeRequests, subject);
}

const ORDER = {
  pushed: { orderBy: 'last_activity_at', sort: 'desc' },
  updated: { orderBy: 'updated_at', sort: 'desc' },
  created: { orderBy: 'created_at', sort: 'desc' },
  full_name: { orderBy: 'path', sort: 'asc' },
} as const;

function oldestFirst(which: PageOf) {
  return { orderBy: 'created_at', sort: 'asc', ...which, showExpanded: true } as const;
}

const ENTRIES = 1_000;

async function folder(
  exchange: Exchange,
  repository: string,
  path: string,
  ref: string | null,
): Promise<Answer<FolderEntry[]>> {
  const what = `the folder ${path || '/'} in ${repository}`;
  if (!isPath(path)) return exchange.nowhere({ what });
  const found: FolderEntry[] = [];
  for (let page = 1; found.length < ENTRIES; page += 1) {
    const which: PageOf = { page, perPage: 100 };
    const asked: Answer<Page<FolderEntry>> = await ask(
      exchange,
      within(repository, ({ Repositories }, at) =>
        new Repositories(at).allRepositoryTrees(repository, {
          ...(path !== '' && { path }),
          ref: ref ?? 'HEAD',
          ...which,
          showExpanded: true,
        }),
      ),
      { shape: shapes.tree, what },
    );
    if (asked.kind !== 'ok') return asked;
    const { items, more } = asked.value;
    found.push(...items);
    if (items.length === 0 || !more) break;
  }
  // Git knows no empty folder.
  return found.length === 0 ? exchange.nowhere({ what }) : ok(found.slice(0, ENTRIES));
}

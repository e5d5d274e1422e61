import { type Answer, mapAnswer, ok } from '../answer.ts';
import { apiPath } from '../api-path.ts';
import type { Api } from '../api.ts';
import type { OwnPullRequest, Page, PageOf, Repository, RepositorySort } from '../git-provider.ts';
import { overallState } from '../overall-state.ts';
import { askEach } from '../side-by-side.ts';
import { below } from './bitbucket-paths.ts';
import * as shapes from './bitbucket-shapes.ts';

/**
 * What Bitbucket tells of one workspace only (it has retired what went across workspaces: CHANGE-2770, February 2026),
 * gathered from all of an account's.
 */

export async function workspaces(api: Api) {
  const asked = await api.ask('/user/workspaces', {
    query: { pagelen: 100 },
    shape: shapes.workspaces,
    what: 'the workspaces',
  });
  return mapAnswer(asked, ({ items }) => items);
}

interface Sorted {
  createdAt: string;
  repository: Repository;
}

export const ORDER: Readonly<Record<RepositorySort, string>> = {
  pushed: '-updated_on',
  updated: '-updated_on',
  created: '-created_on',
  full_name: 'full_name',
};

const KEY: Readonly<Record<string, (of: Sorted) => string>> = {
  updated_on: ({ repository }) => repository.pushedAt ?? '',
  created_on: ({ createdAt }) => createdAt,
  full_name: ({ repository }) => repository.fullName,
};

/** Hundreds of repositories of one workspace that a page may lie behind. */
const HUNDREDS = 10;

/**
 * One page of the repositories of several workspaces, in one order: each gives its first, and of those the page is cut.
 * @param sort as Bitbucket writes it: `-updated_on` is descending
 */
export async function repositoriesOf(
  api: Api,
  owners: readonly string[],
  { page, perPage, sort, filter }: PageOf & { sort: string; filter: string | null },
): Promise<Answer<Page<Repository>>> {
  const wanted = page * perPage;
  const lists = await askEach(owners, async (owner): Promise<Answer<{ items: Sorted[]; more: boolean }>> => {
    const items: Sorted[] = [];
    for (let at = 1; ; at += 1) {
      const asked = await api.ask(apiPath`/repositories/${owner}`, {
        query: { role: 'member', q: filter, sort, page: at, pagelen: Math.min(wanted, 100) },
        shape: shapes.pageOf(shapes.repository),
        what: `the repositories of ${owner}`,
      });
      if (asked.kind !== 'ok') return asked;
      items.push(...asked.value.items);
      const { more } = asked.value;
      if (!more || items.length >= wanted || at === HUNDREDS) return ok({ items, more });
    }
  });
  return mapAnswer(lists, (given) => {
    const all = given.flatMap(({ items }) => items).toSorted(comparing(sort));
    const items = all.slice(wanted - perPage, wanted).map(({ repository }) => repository);
    return { items, more: all.length > wanted || given.some(({ more }) => more), total: null };
  });
}

function comparing(sort: string): (a: Sorted, b: Sorted) => number {
  const key = KEY[sort.replace('-', '')] ?? (({ repository }) => repository.fullName);
  const sign = sort.startsWith('-') ? -1 : 1;
  return (a, b) => (key(a) === key(b) ? 0 : key(a) < key(b) ? -sign : sign);
}

/** Own pull requests that are looked at: each costs three requests. */
const OWN = 20;

export async function ownPullRequests(api: Api): Promise<Answer<OwnPullRequest[]>> {
  const [me, owners] = await Promise.all([
    api.ask('/user', { shape: shapes.user, what: 'the account' }),
    workspaces(api),
  ]);
  if (me.kind !== 'ok') return me;
  if (owners.kind !== 'ok') return owners;
  const lists = await askEach(owners.value, ({ id }) =>
    api.ask(apiPath`/workspaces/${id}/pullrequests/${me.value.id}`, {
      query: { state: 'OPEN', sort: '-updated_on', pagelen: OWN },
      shape: shapes.pullRequests,
      what: `your pull requests in ${id}`,
    }),
  );
  if (lists.kind !== 'ok') return lists;
  const own = lists.value.flatMap(({ items }) => items).slice(0, OWN);
  return askEach(own, (one) => standing(api, one));
}

async function standing(
  api: Api,
  { request, repository, into, openTasks }: (typeof shapes.pullRequest)['_output'],
): Promise<Answer<OwnPullRequest>> {
  const what = `the pull request ${request.number} of ${repository}`;
  const { commit } = request.head;
  const [conflicts, checks, said] = await Promise.all([
    commit === null || into === null
      ? ok(null)
      : api.ask(below(repository, apiPath`/diffstat/${`${commit}..${into}`}`), {
          query: { from_pullrequest_id: request.number, topic: true, pagelen: 500 },
          shape: shapes.diffstat,
          what,
        }),
    commit === null ? ok(null) : statuses(api, repository, commit),
    api.ask(below(repository, apiPath`/pullrequests/${request.number}/comments`), {
      query: { pagelen: 100 },
      shape: shapes.comments,
      what,
    }),
  ]);
  if (conflicts.kind !== 'ok') return conflicts;
  if (checks.kind !== 'ok') return checks;
  if (said.kind !== 'ok') return said;
  return ok({
    repository,
    number: request.number,
    title: request.title,
    hasConflicts:
      conflicts.value?.items.some(({ status }) => /conflict|local deleted|remote deleted/.test(status)) ??
      false,
    hasFailingChecks: overallState(checks.value ?? []) === 'failure',
    hasUnresolvedComments:
      openTasks > 0 ||
      said.value.items.some(
        (comment) =>
          comment.place !== null && comment.parent === null && !comment.isResolved && !comment.isDeleted,
      ),
  });
}

/** @param commit its hash, also shortened */
export async function statuses(api: Api, repository: string, commit: string) {
  const asked = await api.ask(below(repository, apiPath`/commit/${commit}/statuses`), {
    query: { pagelen: 100 },
    shape: shapes.statuses,
    what: `the pipelines of ${commit} in ${repository}`,
  });
  return mapAnswer(asked, ({ items }) => items);
}

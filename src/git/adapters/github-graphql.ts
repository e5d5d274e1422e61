import { z } from 'zod';
import { listOf } from '../list-of.ts';
import { type Answer, mapAnswer, ok, type ProviderFailure } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import type { Branch, OwnPullRequest, Page, PageOf, ReviewComment } from '../git-provider.ts';
import { type Github, type Question, within } from './github-octokit.ts';
import { OWN_PULL_REQUESTS, REFS, REVIEW_THREADS } from './github-queries.ts';
import * as shapes from './github-shapes.ts';

/** What only GitHub's GraphQL API answers, or it alone in one request. It needs a token. */

/** Hundreds of branches that are looked through before a search gives up. */
const SEARCH_HOPS = 10;

/** Branches with the text anywhere in their names, which only GraphQL finds; its pages are reached one after another. */
export async function searchBranches(
  api: Github,
  repository: string,
  query: string,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Branch>>> {
  const what = `the repository ${repository}`;
  const at = within(repository, {});
  if (at === null) return api.exchange.nowhere({ what });
  const found: Branch[] = [];
  let after: string | null = null;
  for (let hop = 1; ; hop += 1) {
    const variables: Record<string, unknown> = { owner: at.owner, name: at.repo, query, after };
    const asked = await askGraph(api, { query: REFS, variables }, { shape: shapes.refsPage, what });
    if (asked.kind !== 'ok') return asked;
    const refs = asked.value.repository?.refs;
    if (!refs) return api.exchange.nowhere({ what });
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

/** What reviewers say of lines, and whether it is resolved. */
export async function reviewThreads(
  api: Github,
  repository: string,
  number: number,
): Promise<Answer<ReviewComment[]>> {
  const what = `the pull request ${number} of ${repository}`;
  const at = within(repository, {});
  if (at === null) return api.exchange.nowhere({ what });
  const query = { query: REVIEW_THREADS, variables: { owner: at.owner, name: at.repo, number } };
  const asked = await askGraph(api, query, { shape: shapes.reviewThreads, what });
  if (asked.kind !== 'ok') return asked;
  const request = asked.value.repository?.pullRequest;
  if (!request) return api.exchange.nowhere({ what });
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

export async function ownPullRequests(api: Github): Promise<Answer<OwnPullRequest[]>> {
  const query = { query: OWN_PULL_REQUESTS, variables: {} };
  const asked = await askGraph(api, query, { shape: shapes.ownPullRequests, what: 'your pull requests' });
  return mapAnswer(asked, ({ viewer }) => viewer.pullRequests.nodes);
}

const KINDS: Readonly<Record<string, ProviderFailure['kind']>> = {
  NOT_FOUND: 'not_found',
  FORBIDDEN: 'without_scope',
  INSUFFICIENT_SCOPES: 'without_scope',
  RATE_LIMITED: 'rate_limited',
};

/** Also with status 200 it says that it failed. */
async function askGraph<T>(
  api: Github,
  asking: { query: string; variables: Readonly<Record<string, unknown>> },
  { shape, what }: Question<T>,
): Promise<Answer<T>> {
  const errors = listOf(z.object({ type: z.string().optional() })).refine((all) => all.length > 0);
  const asked = await api.graph(asking, {
    shape: z.union([
      z.object({ data: shape, errors: errors.optional() }),
      z.object({ data: z.null().optional(), errors }),
    ]),
    what,
  });
  if (asked.kind !== 'ok') return asked;
  const { data, errors: failures } = asked.value;
  const type = failures?.[0]?.type ?? '';
  // Beside an error of one part, the rest is there.
  if (data !== null && data !== undefined && type !== 'NOT_FOUND') return ok(data);
  return failureOf(api.exchange.place, KINDS[type] ?? 'unexpected', what);
}

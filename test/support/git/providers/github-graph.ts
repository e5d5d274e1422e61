import type { Given } from './server.ts';
import * as world from './world.ts';

/** What GitHub's GraphQL API answers: shapes of https://docs.github.com/en/graphql/reference, as of November 2026. */
export function graph(body: unknown): Given {
  const { query, variables } = body as { query: string; variables: Record<string, unknown> };
  if (query.includes('viewer'))
    return { body: { data: { viewer: { pullRequests: { nodes: ownNodes() } } } } };
  const found = world.REPOSITORIES.find(
    ({ owner, name }) => owner === variables['owner'] && name === variables['name'],
  );
  if (!found) {
    const message = `Could not resolve to a Repository with the name '${String(variables['name'])}'.`;
    return {
      body: { data: { repository: null }, errors: [{ type: 'NOT_FOUND', path: ['repository'], message }] },
    };
  }
  return { body: { data: { repository: query.includes('refs(') ? refs(variables) : threads() } } };
}

function refs(variables: Record<string, unknown>) {
  const found = world.BRANCHES.filter(({ name }) => name.includes(String(variables['query'])));
  return {
    refs: {
      totalCount: found.length,
      pageInfo: { hasNextPage: false, endCursor: null },
      nodes: found.map(({ name, commit, isProtected }) => ({
        name,
        target: { oid: commit, committedDate: '2026-03-01T10:00:00Z' },
        branchProtectionRule: isProtected ? { id: 'x' } : null,
      })),
    },
  };
}

function threads() {
  return {
    pullRequest: {
      reviewThreads: {
        nodes: Object.entries(world.REVIEW).map(([kind, { id, author, body, path, line, at }]) => ({
          isResolved: kind === 'settled',
          path,
          line,
          comments: {
            nodes: [
              {
                id: `PRRC_${id}`,
                author: { login: author },
                body,
                createdAt: at,
                url: 'https://github.example/x',
              },
            ],
          },
        })),
      },
    },
  };
}

function ownNodes() {
  return [
    {
      number: world.PULL_REQUEST.number,
      title: world.PULL_REQUEST.title,
      repository: { nameWithOwner: 'acme/app' },
      mergeable: 'CONFLICTING',
      reviewDecision: null,
      commits: { nodes: [{ commit: { statusCheckRollup: { state: 'FAILURE' } } }] },
      reviewThreads: { nodes: [{ isResolved: true }, { isResolved: false }] },
    },
    {
      number: world.FINE_PULL_REQUEST.number,
      title: world.FINE_PULL_REQUEST.title,
      repository: { nameWithOwner: 'acme/hidden' },
      mergeable: 'MERGEABLE',
      reviewDecision: 'APPROVED',
      commits: { nodes: [{ commit: { statusCheckRollup: null } }] },
      reviewThreads: { nodes: [] },
    },
  ];
}

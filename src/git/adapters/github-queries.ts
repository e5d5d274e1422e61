/** Questions in GitHub's GraphQL. */

export const REFS = `query ($owner: String!, $name: String!, $query: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    refs(refPrefix: "refs/heads/", query: $query, first: 100, after: $after, orderBy: {field: ALPHABETICAL, direction: ASC}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { name target { oid ... on Commit { committedDate } } branchProtectionRule { id } }
    }
  }
}`;

export const OWN_PULL_REQUESTS = `query {
  viewer {
    pullRequests(first: 50, states: [OPEN], orderBy: {field: UPDATED_AT, direction: DESC}) {
      nodes {
        number
        title
        repository { nameWithOwner }
        mergeable
        reviewDecision
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
        reviewThreads(first: 50) { nodes { isResolved } }
      }
    }
  }
}`;

export const REVIEW_THREADS = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100) {
        nodes {
          isResolved
          path
          line
          comments(first: 50) { nodes { id author { login } body createdAt url } }
        }
      }
    }
  }
}`;

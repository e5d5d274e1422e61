import { type Parameters, type Route, route } from './router.ts';
import { type Asked, type Given, type ProviderServer, startProviderServer } from './server.ts';
import * as world from './world.ts';

/**
 * GitLab. The shapes are those of the examples in "REST API resources" (https://docs.gitlab.com/api/api_resources/: Users,
 * Groups, Projects, Branches, Repository files, Repositories, Issues, Notes, Discussions, Merge requests, Commits) and of
 * the "GraphQL API resources" (https://docs.gitlab.com/api/graphql/reference/), for GitLab 18.
 */
export function startGitlab(): Promise<ProviderServer> {
  return startProviderServer(answering(world.newState()));
}

/** "Rate limits", "Rate limit headers": 429 in plain text. */
export function gitlabLimit(until: Date): Given {
  return {
    status: 429,
    headers: {
      'content-type': 'text/plain',
      'ratelimit-limit': '60',
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(until.getTime() / 1000),
    },
    body: 'Retry later\n',
  };
}

const UNAUTHORIZED: Given = { status: 401, body: { message: '401 Unauthorized' } };
/** "OAuth 2.0", as Doorkeeper says it. */
const EXPIRED: Given = {
  status: 401,
  body: {
    error: 'invalid_token',
    error_description: 'Token is expired. You can either do re-authorization or token refresh.',
  },
};
const WITHOUT_SCOPE: Given = {
  status: 403,
  body: {
    error: 'insufficient_scope',
    error_description: 'The request requires higher privileges than provided by the access token.',
    scope: 'api',
  },
};
const notFound = (what: string): Given => ({ status: 404, body: { message: `404 ${what} Not Found` } });

function answering(state: world.WorldState): (asked: Asked) => Given {
  const issueNotes = 'projects/:project/issues/:number/notes';
  const mergeNotes = 'projects/:project/merge_requests/:number/notes';
  const routes: Record<string, Route> = {
    'GET user': (asked) => (isNobody(asked) ? UNAUTHORIZED : { body: user('ann', 7) }),
    'GET groups': () => ({
      body: [{ id: 1, name: 'Acme', path: 'acme', full_path: 'acme', visibility: 'public' }],
    }),
    'GET groups/:group/projects': (asked, { group }) =>
      listed(asked, world.REPOSITORIES.filter(({ owner }) => owner === group).map(project)),
    'GET projects': (asked) => {
      const search = asked.query.get('search');
      const found = world.REPOSITORIES.filter(({ name }) => search === null || name.includes(search));
      return listed(asked, found.map(project));
    },
    'GET projects/:project': visible((_asked, _parameters, found) => ({ body: project(found) })),
    'GET projects/:project/repository/branches': visible((asked) => {
      const search = asked.query.get('search') ?? '';
      return listed(asked, world.BRANCHES.filter(({ name }) => name.includes(search)).map(branch));
    }),
    'GET projects/:project/repository/files/:path': visible(({ query }, { path = '' }) => file(path, query)),
    'GET projects/:project/repository/tree': visible((asked) => tree(asked)),
    'GET projects/:project/issues/:number': visible((_asked, { number }) =>
      number === '3' ? { body: issue() } : notFound('Issue'),
    ),
    [`GET ${issueNotes}`]: visible((asked) => listed(asked, state.issueComments.map(note))),
    [`POST ${issueNotes}`]: writing(({ body }) => said(state.issueComments, body)),
    'GET projects/:project/merge_requests/:number': visible((_asked, { number }) =>
      number === '5' ? { body: mergeRequest(5, world.PULL_REQUEST) } : notFound('Merge request'),
    ),
    [`GET ${mergeNotes}`]: visible((asked) =>
      listed(asked, [
        ...state.requestComments.map(note),
        {
          ...note({ id: 1, author: 'ann', body: 'added 1 commit', at: '2026-03-01T09:30:00Z' }),
          system: true,
        },
        ...Object.values(world.REVIEW).map(diffNote),
      ]),
    ),
    [`POST ${mergeNotes}`]: writing(({ body }) => said(state.requestComments, body)),
    'GET projects/:project/merge_requests/:number/discussions': visible(() => ({
      body: [
        { id: 'd1', individual_note: true, notes: state.requestComments.map(note) },
        ...Object.values(world.REVIEW).map((review) => ({
          id: `d${review.id}`,
          individual_note: false,
          notes: [diffNote(review)],
        })),
      ],
    })),
    'POST projects/:project/merge_requests': writing(({ body }) => opened(state, body)),
    'GET projects/:project/repository/commits/:ref': visible((_asked, { ref }) => {
      const found = branchOf(ref);
      return found ? { body: { id: found.commit, short_id: found.commit.slice(0, 8) } } : notFound('Commit');
    }),
    'GET projects/:project/repository/commits/:ref/statuses': visible((_asked, { ref }) => ({
      body: (world.CHECKS[branchOf(ref)?.name ?? ''] ?? []).map(status),
    })),
    'GET issues': () => ({
      body: [{ ...issue(), references: { short: '#3', relative: '#3', full: 'acme/app#3' } }],
    }),
  };
  const rest = route(routes);
  return (asked) => {
    const { authorization } = asked.headers;
    if (authorization !== undefined && !isKnown(authorization)) {
      return authorization.includes(world.TOKENS.expired) ? EXPIRED : UNAUTHORIZED;
    }
    if (asked.path === '/forge/api/graphql') return { body: { data: { currentUser: ownMergeRequests() } } };
    const [, path] = asked.path.split('/forge/api/v4/');
    return path === undefined ? { status: 501 } : rest({ ...asked, path });
  };
}

function isKnown(authorization: string): boolean {
  return [world.TOKENS.good, world.TOKENS.readOnly].some((token) => authorization === `Bearer ${token}`);
}

function isNobody({ headers }: Asked): boolean {
  return headers.authorization === undefined;
}

function visible(
  answer: (asked: Asked, parameters: Parameters, found: world.WorldRepository) => Given,
): Route {
  return (asked, parameters) => {
    const found = world.REPOSITORIES.find(({ owner, name }) => `${owner}/${name}` === parameters['project']);
    if (!found || (!found.isPublic && isNobody(asked))) return notFound('Project');
    return answer(asked, parameters, found);
  };
}

function writing(answer: Route): Route {
  return visible((asked, parameters) => {
    if (isNobody(asked)) return UNAUTHORIZED;
    return asked.headers.authorization?.includes(world.TOKENS.readOnly)
      ? WITHOUT_SCOPE
      : answer(asked, parameters);
  });
}

/** "REST API", "Pagination": the headers x-next-page, empty on the last, and x-total. */
function listed(asked: Asked, list: readonly unknown[]): Given {
  const page = Number(asked.query.get('page') ?? 1);
  const { items, more } = world.pageOf(list, page, Number(asked.query.get('per_page') ?? 20));
  return {
    body: items,
    headers: { 'x-next-page': more ? String(page + 1) : '', 'x-total': String(list.length) },
  };
}

function user(username: string, id: number) {
  return {
    id,
    username,
    name: 'Ann',
    state: 'active',
    avatar_url: 'https://gitlab.example/uploads/7.png',
    web_url: `https://gitlab.example/${username}`,
    email: 'ann@example.com',
    organization: '',
  };
}

function project({ id, owner, name, isPublic, branch: main, pushedAt, stars }: world.WorldRepository) {
  return {
    id,
    name,
    path: name,
    path_with_namespace: `${owner}/${name}`,
    visibility: isPublic ? 'public' : 'private',
    default_branch: main,
    star_count: stars,
    last_activity_at: pushedAt,
    namespace: {
      id: 1,
      name: owner,
      path: owner,
      kind: owner === 'acme' ? 'group' : 'user',
      full_path: owner,
    },
  };
}

function branch({ name, commit, isProtected }: (typeof world.BRANCHES)[number]) {
  return {
    name,
    merged: false,
    protected: isProtected,
    default: name === 'main',
    commit: { id: commit, short_id: commit.slice(0, 8), committed_date: '2026-03-01T10:00:00.000+00:00' },
  };
}

function branchOf(ref: string | undefined) {
  return world.BRANCHES.find(({ name, commit }) => name === ref || commit === ref);
}

function file(path: string, query: URLSearchParams): Given {
  const content = world.FILES[path];
  if (content === undefined) return notFound('File');
  return {
    body: {
      file_name: path.split('/').at(-1),
      file_path: path,
      size: content.length,
      encoding: 'base64',
      content: Buffer.from(content).toString('base64'),
      ref: query.get('ref'),
    },
  };
}

function tree(asked: Asked): Given {
  const entries = world.entriesOf(asked.query.get('path') ?? '');
  if (!entries) return notFound('Tree');
  return listed(
    asked,
    entries.map(({ name, path, isFolder }) => ({
      id: 'x',
      name,
      type: isFolder ? 'tree' : 'blob',
      path,
      mode: isFolder ? '040000' : '100644',
    })),
  );
}

function issue() {
  const { number, title, body, author, label } = world.ISSUE;
  return {
    id: 1000,
    iid: number,
    project_id: 11,
    title,
    description: body,
    state: 'opened',
    labels: [label],
    author: { id: 8, username: author, name: 'Bob' },
    web_url: `https://gitlab.example/acme/app/-/issues/${number}`,
  };
}

function note({ id, author, body, at }: world.WorldComment) {
  return {
    id,
    type: null as string | null,
    body,
    author: { id: 8, username: author, name: author },
    created_at: at,
    system: false,
    noteable_type: 'Issue',
    resolvable: false,
  };
}

function said(list: world.WorldComment[], body: unknown): Given {
  return { status: 201, body: note(world.addedComment(list, (body as { body: string }).body)) };
}

function diffNote(review: (typeof world.REVIEW)['open' | 'settled']) {
  return {
    ...note(review),
    type: 'DiffNote',
    noteable_type: 'MergeRequest',
    resolvable: true,
    resolved: review === world.REVIEW.settled,
    position: {
      position_type: 'text',
      old_path: review.path,
      new_path: review.path,
      old_line: null,
      new_line: review.line,
    },
  };
}

function mergeRequest(iid: number, of: { title: string; body: string; head: string; base: string }) {
  return {
    id: 1,
    iid,
    project_id: 11,
    title: of.title,
    description: of.body,
    state: 'opened',
    draft: false,
    author: { id: 7, username: 'ann', name: 'Ann' },
    source_branch: of.head,
    target_branch: of.base,
    source_project_id: 11,
    target_project_id: 11,
    sha: branchOf(of.head)?.commit,
    web_url: `https://gitlab.example/acme/app/-/merge_requests/${iid}`,
  };
}

function opened(state: world.WorldState, body: unknown): Given {
  const { title, description, source_branch: head, target_branch: base } = body as Record<string, string>;
  if (!title || head === undefined || base === undefined)
    return { status: 400, body: { error: 'title is missing' } };
  if (state.opened.includes(head)) {
    return {
      status: 409,
      body: { message: [`Another open merge request already exists for this source branch: !5`] },
    };
  }
  state.opened.push(head);
  return { status: 201, body: mergeRequest(6, { title, body: description ?? '', head, base }) };
}

function status({ name, state }: { name: string; state: 'success' | 'failure' }) {
  return {
    id: 91,
    name,
    status: state === 'failure' ? 'failed' : 'success',
    allow_failure: false,
    target_url: `https://gitlab.example/acme/app/-/jobs/${name}`,
    ref: 'main',
  };
}

function ownMergeRequests() {
  return {
    authoredMergeRequests: {
      nodes: [
        {
          iid: String(world.PULL_REQUEST.number),
          title: world.PULL_REQUEST.title,
          conflicts: true,
          project: { fullPath: 'acme/app' },
          headPipeline: { status: 'FAILED' },
          resolvableDiscussionsCount: 2,
          resolvedDiscussionsCount: 1,
        },
        {
          iid: String(world.FINE_PULL_REQUEST.number),
          title: world.FINE_PULL_REQUEST.title,
          conflicts: false,
          project: { fullPath: 'acme/hidden' },
          headPipeline: null,
          resolvableDiscussionsCount: 0,
          resolvedDiscussionsCount: 0,
        },
      ],
    },
  };
}

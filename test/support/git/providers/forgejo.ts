import type {
  Branch,
  CombinedStatus,
  Comment,
  ContentsResponse,
  Issue,
  Organization,
  PullRequest,
  PullReview,
  PullReviewComment,
  Repository,
  User,
} from 'gitea-js';
import { type Parameters, type Route, route } from './router.ts';
import { type Asked, type Given, type ProviderServer, startProviderServer } from './server.ts';
import * as world from './world.ts';

/**
 * Forgejo. The shapes are those of its swagger document (/swagger.v1.json) in the version that Gitea 1.23 shares with
 * it, as gitea-js 1.23.0 has it: the compiler holds them against that.
 */
export function startForgejo(): Promise<ProviderServer> {
  return startProviderServer(answering(world.newState()));
}

/** Forgejo counts nothing itself; what stands before it (Codeberg) answers 429 with Retry-After (RFC 6585, 4). */
export function forgejoLimit(until: Date): Given {
  const seconds = Math.ceil((until.getTime() - Date.now()) / 1000) + 1;
  return { status: 429, headers: { 'retry-after': String(seconds) }, body: 'Too Many Requests' };
}

const UNAUTHORIZED: Given = {
  status: 401,
  body: { message: 'invalid username, password or token', url: 'https://forgejo.example/api/swagger' },
};
const NO_TOKEN: Given = { status: 401, body: { message: 'token is required', url: '' } };
const WITHOUT_SCOPE: Given = {
  status: 403,
  body: {
    message:
      'token does not have at least one of required scope(s), required=[write:issue], token scope=read:issue',
    url: 'https://forgejo.example/api/swagger',
  },
};
const NOT_FOUND: Given = {
  status: 404,
  body: {
    errors: null,
    message: "The target couldn't be found.",
    url: 'https://forgejo.example/api/swagger',
  },
};

function answering(state: world.WorldState): (asked: Asked) => Given {
  const talkOf = (number: string | undefined) =>
    number === '3' ? state.issueComments : state.requestComments;
  const routes: Record<string, Route> = {
    'GET user': (asked) => (isNobody(asked) ? NO_TOKEN : { body: user('ann', 7) }),
    'GET user/orgs': () => ({ body: [{ id: 1, name: 'acme', username: 'acme' }] satisfies Organization[] }),
    'GET repos/search': (asked) => search(asked),
    'GET repos/issues/search': ({ query }) => ({
      body: query.get('type') === 'pulls' ? ownPulls() : assigned(),
    }),
    'GET repos/:owner/:name': visible((_asked, _parameters, found) => ({ body: repository(found) })),
    'GET repos/:owner/:name/branches': visible((asked) => listed(asked, world.BRANCHES.map(branch))),
    'GET repos/:owner/:name/contents': visible(() => contents('')),
    'GET repos/:owner/:name/contents/:path*': visible((_asked, { path = '' }) => contents(path)),
    'GET repos/:owner/:name/issues/:number': visible((_asked, { number }) =>
      number === '3' ? { body: issue() } : NOT_FOUND,
    ),
    'GET repos/:owner/:name/issues/:number/comments': visible((_asked, { number }) => ({
      body: talkOf(number).map(comment),
    })),
    'POST repos/:owner/:name/issues/:number/comments': writing(({ body }, { number }) => ({
      status: 201,
      body: comment(world.addedComment(talkOf(number), (body as { body: string }).body)),
    })),
    'GET repos/:owner/:name/pulls/:number': visible((_asked, { number }) => {
      if (number === '5') return { body: pullRequest(5, world.PULL_REQUEST, false) };
      return number === '4'
        ? { body: pullRequest(4, { ...world.FINE_PULL_REQUEST, body: '' }, true) }
        : NOT_FOUND;
    }),
    'GET repos/:owner/:name/pulls/:number/reviews': visible((_asked, { number }) => ({
      body: (number === '5'
        ? [{ id: 70, state: 'COMMENT', comments_count: 2, dismissed: false, user: user('bob', 8) }]
        : []) satisfies PullReview[],
    })),
    'GET repos/:owner/:name/pulls/:number/reviews/:review/comments': visible(() => ({
      body: Object.values(world.REVIEW).map(reviewComment),
    })),
    'POST repos/:owner/:name/pulls': writing(({ body }) => opened(state, body as Record<string, string>)),
    'GET repos/:owner/:name/commits/:ref/status': visible((_asked, { ref }) => ({ body: standing(ref) })),
  };
  const rest = route(routes);
  return (asked) => {
    const { authorization } = asked.headers;
    const known = [world.TOKENS.good, world.TOKENS.readOnly].some(
      (token) => authorization === `token ${token}`,
    );
    if (authorization !== undefined && !known) return UNAUTHORIZED;
    const [, path] = asked.path.split('/code/api/v1/');
    return path === undefined ? { status: 501 } : rest({ ...asked, path });
  };
}

function isNobody({ headers }: Asked): boolean {
  return headers.authorization === undefined;
}

function visible(
  answer: (asked: Asked, parameters: Parameters, found: world.WorldRepository) => Given,
): Route {
  return (asked, parameters) => {
    const found = world.REPOSITORIES.find(
      ({ owner, name }) => owner === parameters['owner'] && name === parameters['name'],
    );
    if (!found || (!found.isPublic && isNobody(asked))) return NOT_FOUND;
    return answer(asked, parameters, found);
  };
}

function writing(answer: Route): Route {
  return visible((asked, parameters) => {
    if (isNobody(asked)) return NO_TOKEN;
    return asked.headers.authorization?.includes(world.TOKENS.readOnly)
      ? WITHOUT_SCOPE
      : answer(asked, parameters);
  });
}

/** The headers Link and X-Total-Count; a page has at most 50 ("API Usage", "Pagination"). */
function listed(asked: Asked, list: readonly unknown[], wrap = (items: unknown): unknown => items): Given {
  const page = Number(asked.query.get('page') ?? 1);
  const perPage = Math.min(50, Number(asked.query.get('limit') ?? 30));
  const { items, more } = world.pageOf(list, page, perPage);
  const link = `<https://forgejo.example${asked.path}?page=${page + 1}>; rel="next",<https://forgejo.example${asked.path}?page=9>; rel="last"`;
  return {
    body: wrap(items),
    headers: { 'x-total-count': String(list.length), ...(more && { link }) },
  };
}

function search(asked: Asked): Given {
  const { query } = asked;
  const q = query.get('q') ?? '';
  // The organisation's id, or that of ann, who may work on all.
  const only = query.get('uid') === '1' ? 'acme' : null;
  const found = world.REPOSITORIES.filter(
    ({ owner, name }) => name.includes(q) && (only === null || owner === only),
  );
  return listed(asked, found.map(repository), (data) => ({ ok: true, data }));
}

function user(login: string, id: number) {
  return {
    id,
    login,
    full_name: '',
    email: `${login}@noreply.forgejo.example`,
    avatar_url: 'https://forgejo.example/avatars/7',
  } satisfies User;
}

function repository({ id, owner, name, isPublic, branch: main, pushedAt, stars }: world.WorldRepository) {
  return {
    id,
    name,
    full_name: `${owner}/${name}`,
    owner: user(owner, 1),
    private: !isPublic,
    empty: false,
    default_branch: main,
    stars_count: stars,
    updated_at: pushedAt,
  } satisfies Repository;
}

function branch({ name, commit, isProtected }: (typeof world.BRANCHES)[number]) {
  return {
    name,
    protected: isProtected,
    commit: { id: commit, timestamp: '2026-03-01T10:00:00Z' },
  } satisfies Branch;
}

function contents(path: string): Given {
  const content = world.FILES[path];
  if (content !== undefined) {
    return {
      body: {
        name: path.split('/').at(-1) ?? '',
        path,
        type: 'file',
        encoding: 'base64',
        size: content.length,
        content: Buffer.from(content).toString('base64'),
      } satisfies ContentsResponse,
    };
  }
  const entries = world.entriesOf(path);
  if (!entries) return NOT_FOUND;
  return {
    body: entries.map(({ name, path: at, isFolder }) => ({
      name,
      path: at,
      type: isFolder ? 'dir' : 'file',
    })) satisfies ContentsResponse[],
  };
}

function issue() {
  const { number, title, body, author, label } = world.ISSUE;
  return {
    id: 1000,
    number,
    title,
    body,
    state: 'open',
    user: user(author, 8),
    labels: [{ id: 1, name: label }],
    html_url: `https://forgejo.example/acme/app/issues/${number}`,
  } satisfies Issue;
}

function assigned() {
  return [
    { ...issue(), repository: { id: 11, full_name: 'acme/app', name: 'app', owner: 'acme' } },
  ] satisfies Issue[];
}

function ownPulls() {
  const of = (number: number, title: string, full_name: string) => ({
    number,
    title,
    repository: { full_name },
  });
  return [
    of(world.PULL_REQUEST.number, world.PULL_REQUEST.title, 'acme/app'),
    of(world.FINE_PULL_REQUEST.number, world.FINE_PULL_REQUEST.title, 'acme/hidden'),
  ] satisfies Issue[];
}

function comment({ id, author, body, at }: world.WorldComment) {
  return {
    id,
    body,
    user: user(author, 8),
    created_at: at,
    html_url: `https://forgejo.example/acme/app/issues/3#issuecomment-${id}`,
  } satisfies Comment;
}

function reviewComment(review: (typeof world.REVIEW)['open' | 'settled']) {
  return {
    id: review.id,
    body: review.body,
    path: review.path,
    position: review.line,
    user: user(review.author, 8),
    created_at: review.at,
    html_url: `https://forgejo.example/acme/app/pulls/5#issuecomment-${review.id}`,
    // Null in answers where the document says object.
    ...(review === world.REVIEW.settled ? { resolver: user('ann', 7) } : {}),
  } satisfies PullReviewComment;
}

function pullRequest(
  number: number,
  of: { title: string; body: string; head: string; base: string },
  mergeable: boolean,
) {
  const end = (ref: string) => ({
    label: ref,
    ref,
    sha: world.BRANCHES.find(({ name }) => name === ref)?.commit ?? 'd'.repeat(40),
    repo: { full_name: 'acme/app' },
  });
  return {
    id: 1,
    number,
    title: of.title,
    body: of.body,
    state: 'open',
    merged: false,
    mergeable,
    draft: false,
    user: user('ann', 7),
    head: end(of.head),
    base: end(of.base),
    html_url: `https://forgejo.example/acme/app/pulls/${number}`,
  } satisfies PullRequest;
}

function opened(state: world.WorldState, body: Record<string, string>): Given {
  const { title = '', body: text = '', head = '', base = '' } = body;
  if (state.opened.includes(head)) {
    return {
      status: 409,
      body: {
        message: `pull request already exists for these targets [id: 1, issue_id: 5, head_branch: ${head}]`,
      },
    };
  }
  state.opened.push(head);
  return { status: 201, body: pullRequest(6, { title, body: text, head, base }, true) };
}

function standing(ref: string | undefined) {
  const found = world.BRANCHES.find(({ name, commit }) => name === ref || commit === ref);
  const all = world.CHECKS[found?.name ?? ''] ?? [];
  return {
    sha: found?.commit ?? '',
    total_count: all.length,
    statuses: all.map(({ name, state }) => ({
      id: 1,
      context: name,
      status: state,
      target_url: `/acme/app/actions/runs/${name}`,
    })),
  } satisfies CombinedStatus;
}

import type { components } from '@octokit/openapi-types';
import { graph } from './github-graph.ts';
import { type Parameters, type Route, route } from './router.ts';
import { type Asked, type Given, type ProviderServer, startProviderServer } from './server.ts';
import * as world from './world.ts';

/**
 * GitHub as an Enterprise Server serves it. The shapes are those of GitHub's OpenAPI description of its REST API,
 * github/rest-api-description 23.0.1 as @octokit/openapi-types 29.0.1 has it: the compiler holds them against that.
 */
type Schemas = components['schemas'];
type Shape<T> = T extends (infer E)[] ? Shape<E>[] : T extends object ? { [K in keyof T]?: Shape<T[K]> } : T;

export function startGithub(): Promise<ProviderServer> {
  const state = world.newState();
  return startProviderServer(answering(state));
}

/** REST API, "Rate limits": 403 or 429 with x-ratelimit-remaining 0 and the second of the epoch in x-ratelimit-reset. */
export function githubLimit(until: Date): Given {
  return {
    status: 403,
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(until.getTime() / 1000) },
    body: {
      message: 'API rate limit exceeded for user ID 7.',
      documentation_url: 'https://docs.github.com/rest',
    },
  };
}

type Seen = 'ann' | 'nobody';

function answering(state: world.WorldState): (asked: Asked) => Given {
  const routes: Record<string, Route> = {
    'GET /user': member(() => ({ body: user('ann', 7) })),
    'GET /user/orgs': member(() => ({
      body: [{ login: 'acme', id: 1, description: null }] satisfies Shape<Schemas['organization-simple'][]>,
    })),
    'GET /user/repos': member((asked) => listed(asked, world.REPOSITORIES.map(repository))),
    'GET /orgs/:org/repos': (asked, { org }) =>
      listed(asked, world.REPOSITORIES.filter(({ owner }) => owner === org).map(repository)),
    'GET /search/repositories': ({ query }) => {
      const [words = ''] = (query.get('q') ?? '').split(' in:name');
      const found = world.REPOSITORIES.filter(({ name }) => name.includes(words));
      return {
        body: {
          total_count: found.length,
          incomplete_results: false,
          items: found.map(repository) satisfies Shape<Schemas['repo-search-result-item'][]>,
        },
      };
    },
    'GET /repos/:owner/:name': visible((_asked, _parameters, found) => ({ body: repository(found) })),
    'GET /repos/:owner/:name/branches': visible((asked) =>
      listed(
        asked,
        world.BRANCHES.map(
          ({ name, commit, isProtected }) =>
            ({ name, commit: { sha: commit, url: '' }, protected: isProtected }) satisfies Shape<
              Schemas['short-branch']
            >,
        ),
      ),
    ),
    'GET /repos/:owner/:name/git/matching-refs/:ref*': visible((_asked, { ref = '' }) => ({
      body: world.BRANCHES.filter(({ name }) => `heads/${name}`.startsWith(ref)).map(
        ({ name, commit }) =>
          ({
            ref: `refs/heads/${name}`,
            node_id: 'x',
            object: { type: 'commit', sha: commit },
          }) satisfies Shape<Schemas['git-ref']>,
      ),
    })),
    'GET /repos/:owner/:name/contents/:path*': visible((_asked, { path = '' }) => contents(path)),
    'GET /repos/:owner/:name/issues/:number': visible((_asked, { number }) =>
      number === '3' ? { body: issue() } : NOT_FOUND,
    ),
    'GET /repos/:owner/:name/issues/:number/comments': visible((asked, { number }) =>
      listed(asked, commentsOf(state, number).map(comment)),
    ),
    'POST /repos/:owner/:name/issues/:number/comments': writing(({ body }, { number }) => ({
      status: 201,
      body: comment(world.addedComment(commentsOf(state, number), textOf(body, 'body'))),
    })),
    'GET /repos/:owner/:name/pulls/:number': visible((_asked, { number }) =>
      number === '5' ? { body: pullRequest(5, world.PULL_REQUEST) } : NOT_FOUND,
    ),
    'GET /repos/:owner/:name/pulls/:number/comments': visible(() => ({
      body: Object.values(world.REVIEW).map(reviewComment),
    })),
    'POST /repos/:owner/:name/pulls': writing(({ body }) => opened(state, body)),
    'GET /repos/:owner/:name/commits/:ref/check-runs': visible((_asked, { ref = '' }) => checkRuns(ref)),
    'GET /repos/:owner/:name/commits/:ref/status': visible(() => ({
      body: { state: 'pending', statuses: [], sha: 'a', total_count: 0 } satisfies Shape<
        Schemas['combined-commit-status']
      >,
    })),
    'GET /issues': member(() => ({
      body: [
        { ...issue(), repository: { full_name: 'acme/app' } },
        { ...issue(), number: 5, pull_request: { url: 'x' }, repository: { full_name: 'acme/app' } },
      ] satisfies Shape<Schemas['issue'][]>,
    })),
  };
  const rest = route(routes);
  return (asked) => {
    const who = whoAsks(asked);
    if (typeof who !== 'string') return who;
    if (asked.path === '/api/graphql') return who === 'nobody' ? UNKNOWN : graph(asked.body);
    if (!asked.path.startsWith('/api/v3/')) return { status: 501 };
    return rest({ ...asked, path: asked.path.slice('/api/v3'.length) });
  };
}

const UNKNOWN: Given = {
  status: 401,
  body: {
    message: 'Requires authentication',
    documentation_url: 'https://docs.github.com/rest',
    status: '401',
  },
};
const NOT_FOUND: Given = {
  status: 404,
  body: { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' },
};

/** GitHub says the same of a token that has expired and of one that never was. */
function whoAsks({ headers }: Asked): Seen | Given {
  if (headers.authorization === undefined) return 'nobody';
  const token = headers.authorization.replace('Bearer ', '');
  if (token === world.TOKENS.good || token === world.TOKENS.readOnly) return 'ann';
  return { status: 401, body: { message: 'Bad credentials', status: '401' } };
}

/** What only an account has. */
function member(answer: Route): Route {
  return (asked, parameters) =>
    asked.headers.authorization === undefined ? UNKNOWN : answer(asked, parameters);
}

function visible(
  answer: (asked: Asked, parameters: Parameters, found: world.WorldRepository) => Given,
): Route {
  return (asked, parameters) => {
    const found = world.REPOSITORIES.find(
      ({ owner, name }) => owner === parameters['owner'] && name === parameters['name'],
    );
    if (!found || (!found.isPublic && asked.headers.authorization === undefined)) return NOT_FOUND;
    return answer(asked, parameters, found);
  };
}

function writing(answer: Route): Route {
  return member((asked, parameters) => {
    if (!asked.headers.authorization?.includes(world.TOKENS.readOnly)) return answer(asked, parameters);
    return {
      status: 403,
      headers: { 'x-accepted-github-permissions': 'issues=write; pull_requests=write' },
      body: { message: 'Resource not accessible by personal access token', status: '403' },
    };
  });
}

/** "Using pagination in the REST API": the header Link names the next page. */
function listed(asked: Asked, list: readonly unknown[]): Given {
  const page = Number(asked.query.get('page') ?? 1);
  const { items, more } = world.pageOf(list, page, Number(asked.query.get('per_page') ?? 30));
  const link = `<https://x.example${asked.path}?page=1>; rel="first", <https://x.example${asked.path}?page=${page + 1}>; rel="next"`;
  return { body: items, ...(more && { headers: { link } }) };
}

function textOf(body: unknown, member: string): string {
  return String((body as Record<string, unknown>)[member]);
}

function commentsOf(state: world.WorldState, number: string | undefined): world.WorldComment[] {
  return number === '3' ? state.issueComments : state.requestComments;
}

function user(login: string, id: number) {
  return {
    login,
    id,
    avatar_url: 'https://avatars.example/7',
    type: 'User',
    name: 'Ann',
    company: null,
    email: 'ann@example.com',
  } satisfies Shape<Schemas['private-user']>;
}

function repository({ id, owner, name, isPublic, branch, pushedAt, stars }: world.WorldRepository) {
  return {
    id,
    name,
    full_name: `${owner}/${name}`,
    private: !isPublic,
    default_branch: branch,
    pushed_at: pushedAt,
    stargazers_count: stars,
    owner: { login: owner, id: 1, type: owner === 'acme' ? 'Organization' : 'User' },
  } satisfies Shape<Schemas['full-repository']>;
}

function contents(path: string): Given {
  const content = world.FILES[path];
  if (content !== undefined) {
    const large = content.length > 1024 * 1024;
    return {
      body: {
        type: 'file',
        encoding: large ? 'none' : 'base64',
        size: content.length,
        name: path.split('/').at(-1) ?? '',
        path,
        // GitHub breaks Base64 into lines.
        content: large
          ? ''
          : `${Buffer.from(content).toString('base64').slice(0, 4)}\n${Buffer.from(content).toString('base64').slice(4)}\n`,
        sha: 'x',
      } satisfies Shape<Schemas['content-file']>,
    };
  }
  const entries = world.entriesOf(path);
  if (!entries) return NOT_FOUND;
  return {
    body: entries.map(({ name, path: at, isFolder }) => ({
      type: isFolder ? ('dir' as const) : ('file' as const),
      name,
      path: at,
      sha: 'x',
      size: 1,
    })) satisfies Shape<Schemas['content-directory']>,
  };
}

function issue() {
  const { number, title, body, author, label } = world.ISSUE;
  return {
    id: 1,
    number,
    title,
    body,
    state: 'open',
    user: { login: author, id: 8 },
    labels: [{ id: 1, name: label }],
    html_url: `https://github.example/acme/app/issues/${number}`,
  } satisfies Shape<Schemas['issue']>;
}

function comment({ id, author, body, at }: world.WorldComment) {
  return {
    id,
    body,
    user: { login: author, id: 8 },
    created_at: at,
    html_url: `https://github.example/acme/app/issues/3#issuecomment-${id}`,
  } satisfies Shape<Schemas['issue-comment']>;
}

function reviewComment({ id, author, body, path, line, at }: (typeof world.REVIEW)['open' | 'settled']) {
  return {
    id,
    body,
    path,
    line,
    user: { login: author, id: 8 },
    created_at: at,
    html_url: `https://github.example/acme/app/pull/5#discussion_r${id}`,
  } satisfies Shape<Schemas['pull-request-review-comment']>;
}

function pullRequest(number: number, of: { title: string; body: string; head: string; base: string }) {
  const end = (ref: string) => ({
    label: `acme:${ref}`,
    ref,
    sha: world.BRANCHES.find(({ name }) => name === ref)?.commit ?? '',
    repo: { full_name: 'acme/app' },
  });
  return {
    id: 1,
    number,
    state: 'open',
    title: of.title,
    body: of.body,
    user: { login: 'ann', id: 7 },
    draft: false,
    merged_at: null,
    head: end(of.head),
    base: end(of.base),
    html_url: `https://github.example/acme/app/pull/${number}`,
  } satisfies Shape<Schemas['pull-request']>;
}

function opened(state: world.WorldState, body: unknown): Given {
  const head = textOf(body, 'head');
  if (state.opened.includes(head)) {
    const message = `A pull request already exists for acme:${head}.`;
    return {
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [{ resource: 'PullRequest', code: 'custom', message }],
        documentation_url: 'https://docs.github.com/rest/pulls/pulls#create-a-pull-request',
      } satisfies Schemas['validation-error'],
    };
  }
  state.opened.push(head);
  const made = { title: textOf(body, 'title'), body: textOf(body, 'body'), head, base: textOf(body, 'base') };
  return { status: 201, body: pullRequest(6, made) };
}

function checkRuns(ref: string): Given {
  const branch = world.BRANCHES.find(({ name, commit }) => name === ref || commit === ref);
  if (!branch) return { status: 422, body: { message: `No commit found for SHA: ${ref}`, status: '422' } };
  const runs = world.CHECKS[branch.name] ?? [];
  return {
    body: {
      total_count: runs.length,
      check_runs: runs.map(({ name, state }) => ({
        id: 1,
        name,
        status: 'completed' as const,
        conclusion: state,
        html_url: `https://github.example/acme/app/runs/${name}`,
      })) satisfies Shape<Schemas['check-run'][]>,
    },
  };
}

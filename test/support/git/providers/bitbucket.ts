import { type Parameters, type Route, route } from './router.ts';
import { type Asked, type Given, type ProviderServer, startProviderServer } from './server.ts';
import * as world from './world.ts';

/**
 * Bitbucket Cloud. The shapes are those of its OpenAPI document (https://api.bitbucket.org/swagger.json, version 2.0,
 * with the changes CHANGE-2770 and CHANGE-3022 of February 2026: lists are of one workspace) and of
 * https://developer.atlassian.com/cloud/bitbucket/rest/intro/ for pages, errors and the query language.
 */
export function startBitbucket(): Promise<ProviderServer> {
  return startProviderServer(answering(world.newState()));
}

/** "API request limits": 429, which says nothing of when. */
export function bitbucketLimit(): Given {
  return {
    status: 429,
    body: { type: 'error', error: { message: 'Rate limit for this resource has been exceeded' } },
  };
}

const failed = (status: number, message: string, more: object = {}): Given => ({
  status,
  body: { type: 'error', error: { message, ...more } },
});
const UNAUTHORIZED = failed(401, 'Token is invalid, expired, or not supported for this endpoint.');
const EXPIRED = failed(401, 'Access token expired. Use your refresh token to obtain a new access token.');
const NO_TOKEN = failed(401, 'Authentication required');
const WITHOUT_SCOPE = failed(403, 'Your credentials lack one or more required privilege scopes.', {
  detail: { required: ['pullrequest:write'], granted: ['account', 'repository', 'pullrequest'] },
});
const NOT_FOUND = failed(404, 'Repository acme/absent not found');

function answering(state: world.WorldState): (asked: Asked) => Given {
  const at = 'repositories/:owner/:name';
  const routes: Record<string, Route> = {
    'GET user': member(() => ({ body: user('ann') })),
    'GET user/workspaces': member((asked) =>
      listed(
        asked,
        ['acme', 'ann'].map((slug) => ({
          type: 'workspace_access',
          administrator: false,
          workspace: { type: 'workspace_base', uuid: `{${slug}}`, slug },
        })),
      ),
    ),
    'GET workspaces/:workspace/pullrequests/:user': member((asked, { workspace, user: uuid }) =>
      listed(asked, workspace === 'acme' && uuid === '{uuid-ann}' ? ownPullRequests() : []),
    ),
    'GET repositories/:owner': member((asked, { owner }) => {
      const wanted = /^name ~ "(.*)"$/.exec(asked.query.get('q') ?? '')?.[1] ?? '';
      return listed(
        asked,
        world.REPOSITORIES.filter((one) => one.owner === owner && one.name.includes(wanted)).map(repository),
      );
    }),
    [`GET ${at}`]: visible((_asked, _parameters, found) => ({ body: repository(found) })),
    [`GET ${at}/refs/branches`]: visible((asked) => {
      const wanted = /^name ~ "(.*)"$/.exec(asked.query.get('q') ?? '')?.[1] ?? '';
      return listed(asked, world.BRANCHES.filter(({ name }) => name.includes(wanted)).map(branch));
    }),
    [`GET ${at}/refs`]: visible((asked) => {
      const wanted = /^name = "(.*)"$/.exec(asked.query.get('q') ?? '')?.[1];
      return listed(asked, world.BRANCHES.filter(({ name }) => name === wanted).map(branch));
    }),
    [`GET ${at}/src/:commit/:path*`]: visible((asked, { path = '' }) => source(asked, path)),
    [`GET ${at}/pullrequests/:number`]: visible((_asked, { number }) =>
      number === '5' ? { body: pullRequest(5, world.PULL_REQUEST) } : failed(404, 'Pull request not found'),
    ),
    [`GET ${at}/pullrequests/:number/comments`]: visible((asked, { number }) =>
      listed(
        asked,
        number === '5'
          ? [...state.requestComments.map(comment), ...Object.values(world.REVIEW).map(inlineComment)]
          : [],
      ),
    ),
    [`POST ${at}/pullrequests/:number/comments`]: writing(({ body }) => {
      const { content } = body as { content: { raw: string } };
      return { status: 201, body: comment(world.addedComment(state.requestComments, content.raw)) };
    }),
    [`GET ${at}/pullrequests`]: visible((asked) => {
      const head = /source\.branch\.name = "([^"]*)"/.exec(asked.query.get('q') ?? '')?.[1] ?? '';
      return listed(asked, state.opened.includes(head) ? [pullRequest(5, world.PULL_REQUEST)] : []);
    }),
    [`POST ${at}/pullrequests`]: writing(({ body }) => {
      const { title, description, source: from, destination } = body as ReturnType<typeof pullRequest>;
      state.opened.push(from.branch.name);
      const of = { title, body: description, head: from.branch.name, base: destination.branch.name };
      return { status: 201, body: pullRequest(6, of) };
    }),
    [`GET ${at}/commit/:commit/statuses`]: visible((asked, { commit = '' }) => {
      const found = world.BRANCHES.find((one) => one.commit.startsWith(commit));
      return listed(asked, (world.CHECKS[found?.name ?? ''] ?? []).map(status));
    }),
    [`GET ${at}/diffstat/:spec`]: visible((asked) => {
      const conflict = asked.query.get('from_pullrequest_id') === '5';
      return listed(asked, [{ type: 'diffstat', status: conflict ? 'merge conflict' : 'modified' }]);
    }),
  };
  const rest = route(routes);
  return (asked) => {
    const { authorization } = asked.headers;
    const known = [world.TOKENS.good, world.TOKENS.readOnly].some(
      (token) => authorization === `Bearer ${token}`,
    );
    if (authorization !== undefined && !known) {
      return authorization.includes(world.TOKENS.expired) ? EXPIRED : UNAUTHORIZED;
    }
    return rest({ ...asked, path: asked.path.replace('/2.0/', '') });
  };
}

function member(answer: Route): Route {
  return (asked, parameters) =>
    asked.headers.authorization === undefined ? NO_TOKEN : answer(asked, parameters);
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
  return member((asked, parameters) =>
    asked.headers.authorization?.includes(world.TOKENS.readOnly) ? WITHOUT_SCOPE : answer(asked, parameters),
  );
}

/** "Pagination": `next` is there on all pages but the last. */
function listed(asked: Asked, list: readonly object[]): Given {
  const page = Number(asked.query.get('page') ?? 1);
  const pagelen = Number(asked.query.get('pagelen') ?? 10);
  const { items, more } = world.pageOf(list, page, pagelen);
  const next = { next: `https://api.bitbucket.example${asked.path}?page=${page + 1}` };
  return { body: { values: items, page, pagelen, size: list.length, ...(more && next) } };
}

function user(nickname: string) {
  return {
    type: 'user',
    uuid: `{uuid-${nickname}}`,
    account_id: '557058:7',
    display_name: nickname,
    nickname,
    links: { avatar: { href: 'https://avatars.example/7' } },
  };
}

function repository({ owner, name, isPublic, branch: main, pushedAt }: world.WorldRepository) {
  return {
    type: 'repository',
    uuid: `{${owner}-${name}}`,
    full_name: `${owner}/${name}`,
    name,
    is_private: !isPublic,
    mainbranch: { type: 'branch', name: main },
    created_on: pushedAt,
    updated_on: pushedAt,
    owner: { type: owner === 'acme' ? 'team' : 'user', uuid: `{${owner}}` },
  };
}

function branch({ name, commit }: (typeof world.BRANCHES)[number]) {
  return {
    type: 'branch',
    name,
    target: { type: 'commit', hash: commit, date: '2026-03-01T10:00:00+00:00' },
  };
}

/** "Source": a file as it stands, what it is with `format=meta`, or what lies in a folder. */
function source(asked: Asked, path: string): Given {
  const folder = path.replace(/\/$/, '');
  const content = world.FILES[path];
  if (asked.query.get('format') === 'meta') {
    if (content !== undefined) return { body: entry(path, false, Buffer.byteLength(content)) };
    return world.entriesOf(path)
      ? { body: entry(path, true, 0) }
      : failed(404, `No such file or directory: ${path}`);
  }
  if (content !== undefined) return { headers: { 'content-type': 'text/plain' }, body: content };
  const entries = world.entriesOf(folder);
  if (!entries) return failed(404, `No such file or directory: ${path}`);
  return folderPage(asked, entries);
}

/** The pages of a folder have names. */
function folderPage(asked: Asked, entries: NonNullable<ReturnType<typeof world.entriesOf>>): Given {
  const start = asked.query.get('page') === 'Wmdl' ? 1 : 0;
  const next = `https://api.bitbucket.example${asked.path}?pagelen=100&page=Wmdl`;
  const some = start === 0 ? entries.slice(0, 1) : entries.slice(1);
  return {
    body: {
      values: some.map(({ path, isFolder }) => entry(path, isFolder, 1)),
      pagelen: 100,
      page: start + 1,
      ...(start === 0 && { next }),
    },
  };
}

function entry(path: string, isFolder: boolean, size: number) {
  return { type: isFolder ? 'commit_directory' : 'commit_file', path, ...(!isFolder && { size }) };
}

function pullRequest(id: number, of: { title: string; body: string; head: string; base: string }) {
  const end = (name: string) => ({
    branch: { name },
    commit: {
      type: 'commit',
      hash: (world.BRANCHES.find((one) => one.name === name)?.commit ?? 'd'.repeat(40)).slice(0, 12),
    },
    repository: { type: 'repository', full_name: 'acme/app', name: 'app' },
  });
  return {
    type: 'pullrequest',
    id,
    title: of.title,
    description: of.body,
    state: 'OPEN',
    draft: false,
    author: user('ann'),
    source: end(of.head),
    destination: end(of.base),
    task_count: 0,
    comment_count: 0,
    links: { html: { href: `https://bitbucket.example/acme/app/pull-requests/${id}` } },
  };
}

function ownPullRequests() {
  const fine = pullRequest(4, { ...world.FINE_PULL_REQUEST, body: '' });
  const hidden = { type: 'repository', full_name: 'acme/hidden', name: 'hidden' };
  return [
    pullRequest(5, world.PULL_REQUEST),
    {
      ...fine,
      source: { ...fine.source, repository: hidden },
      destination: { ...fine.destination, repository: hidden },
    },
  ];
}

function comment({ id, author, body, at }: world.WorldComment) {
  return {
    type: 'pullrequest_comment',
    id,
    content: { type: 'rendered', raw: body, markup: 'markdown', html: `<p>${body}</p>` },
    user: user(author),
    created_on: at,
    deleted: false,
    links: { html: { href: `https://bitbucket.example/acme/app/pull-requests/5/_/diff#comment-${id}` } },
  };
}

function inlineComment(review: (typeof world.REVIEW)['open' | 'settled']) {
  const resolution = { type: 'pullrequest_comment_resolution', user: user('ann'), created_on: review.at };
  return {
    ...comment(review),
    inline: { path: review.path, from: null, to: review.line },
    ...(review === world.REVIEW.settled && { resolution }),
  };
}

function status({ name, state }: { name: string; state: 'success' | 'failure' }) {
  return {
    type: 'build',
    key: name,
    name,
    state: state === 'failure' ? 'FAILED' : 'SUCCESSFUL',
    url: `https://bitbucket.example/acme/app/pipelines/${name}`,
  };
}

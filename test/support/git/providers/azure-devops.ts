import { type Parameters, type Route, route } from './router.ts';
import { type Asked, type Given, type ProviderServer, startProviderServer } from './server.ts';
import * as world from './world.ts';

/**
 * Azure DevOps Services with the organisation `contoso`, whose projects are the world's owners. The shapes are those of
 * the examples in "Azure DevOps Services REST API Reference" (https://learn.microsoft.com/rest/api/azure/devops/: Core
 * Projects, Git Repositories, Refs, Items, Pull Requests, Pull Request Threads, Statuses, Build Builds, Policy
 * Evaluations, Work Item Tracking), api-version 7.1.
 */
export function startAzureDevops(): Promise<ProviderServer> {
  return startProviderServer(answering(world.newState()));
}

/** "Rate and usage limits": 429 with Retry-After. */
export function azureLimit(until: Date): Given {
  const seconds = Math.ceil((until.getTime() - Date.now()) / 1000) + 1;
  return { status: 429, headers: { 'retry-after': String(seconds) }, body: failed('TF400733') };
}

/** The sign-in page: what a token that is none gets, and who has none where one is needed. */
const SIGN_IN: Given = {
  status: 203,
  headers: { 'content-type': 'text/html' },
  body: '<html><title>Azure DevOps Services | Sign In</title></html>',
};
const EXPIRED: Given = {
  status: 401,
  body: failed('Access Denied: The Personal Access Token used has expired.'),
};
const WITHOUT_PERMISSION: Given = {
  status: 403,
  body: failed(
    "TF401027: You need the Git 'PullRequestContribute' permission on this item to perform this action.",
  ),
};
const NOT_FOUND: Given = {
  status: 404,
  body: failed('TF401019: The Git repository with name or identifier absent does not exist.'),
};
const notFound = (message: string): Given => ({ status: 404, body: failed(message) });

function failed(message: string) {
  return { $id: '1', innerException: null, message, typeName: 'Microsoft.TeamFoundation', errorCode: 0 };
}

function answering(state: world.WorldState): (asked: Asked) => Given {
  const at = ':project/_apis/git/repositories/:name';
  const talk = ':project/_apis/wit/workItems/:number/comments';
  const routes: Record<string, Route> = {
    'GET _apis/connectionData': () => ({ body: connectionData() }),
    'GET _apis/projects': () => listed(['acme', 'ann'].map(project)),
    'GET _apis/git/repositories': () => listed(world.REPOSITORIES.map(repository)),
    'GET :project/_apis/git/repositories': (_asked, { project: named }) =>
      listed(world.REPOSITORIES.filter(({ owner }) => named === `p-${owner}`).map(repository)),
    [`GET ${at}`]: visible((_asked, _parameters, found) => ({ body: repository(found) })),
    [`GET ${at}/refs`]: visible(({ query }) => {
      const begin = (query.get('filter') ?? '').replace('heads/', '');
      const inside = query.get('filterContains') ?? '';
      const found = world.BRANCHES.filter(({ name }) => name.startsWith(begin) && name.includes(inside));
      return listed(found.slice(0, Number(query.get('$top') ?? 1000)).map(ref));
    }),
    [`GET ${at}/items`]: visible(({ query }) => items(query)),
    [`GET ${at}/pullrequests/:number`]: visible((_asked, { number }) =>
      number === '5'
        ? { body: pullRequest(5, world.PULL_REQUEST) }
        : notFound('TF401180: The requested pull request was not found.'),
    ),
    [`POST ${at}/pullrequests`]: writing(({ body }) => opened(state, body as Record<string, string>)),
    [`GET ${at}/pullRequests/:number/threads`]: visible((_asked, { number }) =>
      listed(number === '5' ? threads(state) : []),
    ),
    [`POST ${at}/pullRequests/:number/threads`]: writing(({ body }) => {
      const [first] = (body as { comments: { content: string }[] }).comments;
      return { body: talkThread(world.addedComment(state.requestComments, first?.content ?? '')) };
    }),
    [`GET ${at}/commits/:commit/statuses`]: visible((_asked, { commit }) =>
      listed(
        checksOf(commit)
          .filter(({ name }) => name === 'lint')
          .map(commitStatus),
      ),
    ),
    'GET :project/_apis/build/builds': () =>
      listed(
        world.BRANCHES.flatMap(({ commit }) =>
          checksOf(commit)
            .filter(({ name }) => name === 'test')
            .map((check) => build(commit, check)),
        ),
      ),
    'GET :project/_apis/git/pullrequests': (asked, { project: named }) =>
      listed(
        asked.query.get('searchCriteria.creatorId') === 'id-ann' && named === 'p-acme' ? ownRequests() : [],
      ),
    'GET :project/_apis/policy/evaluations': ({ query }) =>
      listed(query.get('artifactId')?.endsWith('/5') ? [evaluation('rejected')] : [evaluation('approved')]),
    'GET :project/_apis/wit/workitems/:number': (_asked, { number }) =>
      number === '3' ? { body: workItem() } : notFound(`TF401232: Work item ${number ?? ''} does not exist.`),
    [`GET ${talk}`]: ({ query }) => ({
      body: {
        totalCount: state.issueComments.length,
        count: state.issueComments.length,
        comments: state.issueComments.slice(0, Number(query.get('$top'))).map(workItemComment),
      },
    }),
    [`POST ${talk}`]: ({ body }) => ({
      body: workItemComment(world.addedComment(state.issueComments, (body as { text: string }).text)),
    }),
    'POST _apis/wit/wiql': () => ({
      body: { queryType: 'flat', workItems: [{ id: 3, url: 'https://azure.example/_apis/wit/workItems/3' }] },
    }),
    'GET _apis/wit/workitems': () =>
      listed([{ id: 3, rev: 1, fields: { 'System.Title': world.ISSUE.title, 'System.TeamProject': 'ann' } }]),
  };
  const rest = route(routes);
  return (asked) => {
    const { authorization } = asked.headers;
    const token = Buffer.from((authorization ?? '').replace('Basic ', ''), 'base64').toString();
    if (token === `:${world.TOKENS.expired}`) return EXPIRED;
    const known = [world.TOKENS.good, world.TOKENS.readOnly].some((one) => token === `:${one}`);
    if (authorization !== undefined && !known) return SIGN_IN;
    return rest({ ...asked, path: asked.path.replace('/contoso/', '') });
  };
}

function visible(
  answer: (asked: Asked, parameters: Parameters, found: world.WorldRepository) => Given,
): Route {
  return (asked, parameters) => {
    const { project: of = '', name = '' } = parameters;
    const found = world.REPOSITORIES.find(
      (one) => (of === one.owner || of === `p-${one.owner}`) && (name === one.name || name === `r-${one.id}`),
    );
    if (!found) return NOT_FOUND;
    if (!found.isPublic && asked.headers.authorization === undefined) return SIGN_IN;
    return answer(asked, parameters, found);
  };
}

function writing(answer: Route): Route {
  return visible((asked, parameters) => {
    const readOnly = Buffer.from(`:${world.TOKENS.readOnly}`).toString('base64');
    return asked.headers.authorization === `Basic ${readOnly}`
      ? WITHOUT_PERMISSION
      : answer(asked, parameters);
  });
}

function listed(value: readonly object[]): Given {
  return { body: { count: value.length, value } };
}

function connectionData() {
  return {
    authenticatedUser: {
      id: 'id-ann',
      descriptor: 'Microsoft.IdentityModel.Claims.ClaimsIdentity;contoso\\ann',
      providerDisplayName: 'Ann',
      isActive: true,
      properties: { Account: { $type: 'System.String', $value: 'ann' } },
    },
  };
}

function identity(name: string) {
  return { displayName: name, uniqueName: name, id: `id-${name}`, url: 'https://azure.example/x' };
}

function project(name: string) {
  return {
    id: `p-${name}`,
    name,
    state: 'wellFormed',
    visibility: 'private',
    lastUpdateTime: '2026-03-01T10:00:00.000Z',
  };
}

function repository({ id, owner, name, isPublic, branch }: world.WorldRepository) {
  return {
    id: `r-${id}`,
    name,
    project: { ...project(owner), visibility: isPublic ? 'public' : 'private' },
    defaultBranch: `refs/heads/${branch}`,
    size: 728,
    isDisabled: false,
    webUrl: `https://azure.example/contoso/${owner}/_git/${name}`,
  };
}

function ref({ name, commit }: (typeof world.BRANCHES)[number]) {
  return { name: `refs/heads/${name}`, objectId: commit, creator: identity('ann') };
}

function items(query: URLSearchParams): Given {
  const branch = query.get('versionDescriptor.version');
  if (branch !== null && !world.BRANCHES.some(({ name }) => name === branch)) {
    return notFound(
      `TF401175: The version descriptor <Branch: ${branch}> could not be resolved to a version.`,
    );
  }
  const path = (query.get('path') ?? query.get('scopePath') ?? '').slice(1);
  const content = world.FILES[path];
  const entries = world.entriesOf(path);
  if (content === undefined && !entries) return notFound(`TF401174: The item ${path} could not be found.`);
  const self = content === undefined ? folder(path) : { ...blob(path), content };
  if (query.has('path')) return { body: self };
  const inside = (entries ?? []).map(({ path: one, isFolder }) => (isFolder ? folder(one) : blob(one)));
  return listed([self, ...inside]);
}

function blob(path: string) {
  return { objectId: 'x', gitObjectType: 'blob', commitId: 'x', path: `/${path}` };
}

function folder(path: string) {
  return { objectId: 'x', gitObjectType: 'tree', commitId: 'x', path: `/${path}`, isFolder: true };
}

function pullRequest(id: number, of: { title: string; body: string; head: string; base: string }) {
  return {
    pullRequestId: id,
    title: of.title,
    description: of.body,
    status: 'active',
    isDraft: false,
    mergeStatus: 'succeeded',
    createdBy: identity('ann'),
    sourceRefName: `refs/heads/${of.head}`,
    targetRefName: `refs/heads/${of.base}`,
    lastMergeSourceCommit: {
      commitId: world.BRANCHES.find(({ name }) => name === of.head)?.commit ?? 'd'.repeat(40),
    },
    repository: { id: 'r-11', name: 'app', project: project('acme') },
  };
}

function ownRequests() {
  return [
    { ...pullRequest(5, world.PULL_REQUEST), mergeStatus: 'conflicts' },
    {
      ...pullRequest(4, { ...world.FINE_PULL_REQUEST, body: '' }),
      repository: { id: 'r-12', name: 'hidden', project: project('acme') },
    },
  ];
}

function opened(state: world.WorldState, body: Record<string, string>): Given {
  const { title = '', description = '', sourceRefName = '', targetRefName = '' } = body;
  const head = sourceRefName.replace('refs/heads/', '');
  if (state.opened.includes(head)) {
    const message = 'TF401179: An active pull request for the source and target branch already exists.';
    return { status: 409, body: failed(message) };
  }
  state.opened.push(head);
  const base = targetRefName.replace('refs/heads/', '');
  return { status: 201, body: pullRequest(6, { title, body: description, head, base }) };
}

function comment({ author, body, at }: world.WorldComment) {
  return {
    id: 1,
    parentCommentId: 0,
    author: identity(author),
    content: body,
    publishedDate: at,
    commentType: 'text',
  };
}

function talkThread(said: world.WorldComment) {
  return { id: said.id, threadContext: null, comments: [comment(said)], isDeleted: false };
}

function threads(state: world.WorldState) {
  const noted = {
    ...comment({ id: 1, author: 'ann', body: 'Ann joined as a reviewer', at: '2026-03-01T08:00:00Z' }),
  };
  return [
    { id: 1, threadContext: null, comments: [{ ...noted, commentType: 'system' }], isDeleted: false },
    ...state.requestComments.map(talkThread),
    ...Object.values(world.REVIEW).map((review) => ({
      id: review.id,
      status: review === world.REVIEW.settled ? 'fixed' : 'active',
      threadContext: {
        filePath: `/${review.path}`,
        rightFileStart: { line: review.line, offset: 1 },
        rightFileEnd: { line: review.line, offset: 9 },
      },
      comments: [comment(review)],
      isDeleted: false,
    })),
  ];
}

function checksOf(commit: string | undefined) {
  return world.CHECKS[world.BRANCHES.find((one) => one.commit === commit)?.name ?? ''] ?? [];
}

function commitStatus({ name, state }: { name: string; state: 'success' | 'failure' }) {
  return {
    id: 1,
    state: state === 'failure' ? 'failed' : 'succeeded',
    context: { name, genre: 'continuous-integration' },
    targetUrl: `https://azure.example/${name}`,
  };
}

function build(commit: string, { name, state }: { name: string; state: 'success' | 'failure' }) {
  return {
    id: 1,
    buildNumber: '20260301.1',
    status: 'completed',
    result: state === 'failure' ? 'failed' : 'succeeded',
    sourceVersion: commit,
    definition: { id: 1, name },
    _links: { web: { href: `https://azure.example/contoso/acme/_build/results?${name}` } },
  };
}

function evaluation(status: string) {
  return {
    evaluationId: 'e1',
    status,
    configuration: {
      id: 1,
      isEnabled: true,
      isBlocking: true,
      type: { id: '0609b952-1397-4640-95ec-e00a01b2c241', displayName: 'Build' },
    },
  };
}

function workItem() {
  const { number, title, body, author, label } = world.ISSUE;
  return {
    id: number,
    rev: 1,
    fields: {
      'System.Title': title,
      'System.Description': body,
      'System.State': 'Active',
      'System.CreatedBy': identity(author),
      'System.Tags': label,
      'System.TeamProject': 'acme',
    },
    _links: { html: { href: `https://azure.example/contoso/acme/_workitems/edit/${number}` } },
  };
}

function workItemComment({ id, author, body, at }: world.WorldComment) {
  return { workItemId: 3, id, version: 1, text: body, createdBy: identity(author), createdDate: at };
}

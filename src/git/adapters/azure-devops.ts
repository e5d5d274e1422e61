import type { ProviderAccess } from '../access.ts';
import { type Answer, mapAnswer, ok, type ProviderFailure } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { apiPath, pathSegments } from '../api-path.ts';
import { Api } from '../api.ts';
import { basic } from '../basic.ts';
import { textFile } from '../file-content.ts';
import type { Comment, GitProvider, PageOf, PullRequest, Repository } from '../git-provider.ts';
import {
  assignedIssues,
  checksOf,
  connection,
  ownPullRequests,
  projects,
  reviewComments,
  threads,
} from './azure-devops-own.ts';
import {
  below,
  type Located,
  located,
  nameOrId,
  organisationIn,
  placeOf,
  VERSION,
} from './azure-devops-place.ts';
import * as shapes from './azure-devops-shapes.ts';
import { addWorkItemComment, workItem, workItemComments } from './azure-devops-work-items.ts';

/** Azure DevOps Services, or a Server (2022 and newer) whose collection is the organisation. */
export function azureDevops({ base, token, fetch, deadlineMs }: ProviderAccess): GitProvider {
  const place = {
    name: 'Azure DevOps',
    token,
    authorization: token && basic(`:${token.unwrap()}`),
    judge: ({ status }: { status: number }) => judged(status, token !== null),
  };
  const own = organisationIn(base);

  /** Asks within the organisation of the stored host. */
  async function within<T>(
    signal: AbortSignal,
    what: string,
    ask: (api: Api, organisation: string) => Promise<Answer<T>>,
  ): Promise<Answer<T>> {
    if (own === null) {
      const message = `Azure DevOps tells ${what} within an organisation alone: give host as dev.azure.com/ORGANISATION.`;
      return { kind: 'unsupported', message };
    }
    const api = new Api(placeOf(place, base, own), fetch, signal, deadlineMs);
    return token ? ask(api, own) : failureOf(api.place, 'no_token', what);
  }

  /** Asks about a repository. */
  async function at<T>(
    repository: string,
    signal: AbortSignal,
    ask: (api: Api, at: Located) => Promise<Answer<T>>,
  ): Promise<Answer<T>> {
    const found = located(base, repository);
    const organisation = found?.organisation ?? own ?? '';
    const api = new Api(placeOf(place, base, organisation), fetch, signal, deadlineMs);
    return found ? ask(api, found) : failureOf(api.place, 'not_found', `the repository ${repository}`);
  }

  async function list(
    api: Api,
    organisation: string,
    { page, perPage }: PageOf,
    of: { project: string | null; query: string },
  ) {
    const asked = await api.ask(
      of.project === null ? '/_apis/git/repositories' : apiPath`/${of.project}/_apis/git/repositories`,
      {
        query: VERSION,
        shape: shapes.repositories,
        what: of.project === null ? 'the repositories' : `the repositories of ${of.project}`,
      },
    );
    return mapAnswer(asked, (all) => {
      const found = all
        .filter(({ isDisabled, name }) => isDisabled !== true && name.toLowerCase().includes(of.query))
        .map((one) => repositoryOf(organisation, one))
        .toSorted((a, b) => (a.fullName < b.fullName ? -1 : 1));
      const items = found.slice((page - 1) * perPage, page * perPage);
      return { items, more: found.length > page * perPage, total: found.length };
    });
  }

  return {
    provider: 'azure_devops',

    whoAmI: (signal) => within(signal, 'the account', connection),

    owners: (signal) =>
      within(signal, 'the projects', async (api) =>
        mapAnswer(await projects(api), (all) => all.map(({ id, name }) => ({ id, name }))),
      ),

    // Azure orders by nothing that is asked for: it gives all, and they are by name here.
    repositories: ({ owner, ...which }, signal) =>
      within(signal, 'the repositories', (api, organisation) =>
        list(api, organisation, which, { project: owner, query: '' }),
      ),

    searchRepositories: ({ query, ...which }, signal) =>
      within(signal, 'the repositories', (api, organisation) =>
        list(api, organisation, which, {
          project: null,
          query: query.trim().split('/').at(-1)?.toLowerCase() ?? '',
        }),
      ),

    repository: (repository, signal) =>
      at(repository, signal, async (api, found) =>
        mapAnswer(
          await api.ask(below(found, ''), {
            query: VERSION,
            shape: shapes.repository,
            what: `the repository ${repository}`,
          }),
          (given) => repositoryOf(found.organisation, given),
        ),
      ),

    branches: (repository, { page, perPage, query }, signal) =>
      at(repository, signal, async (api, found) => {
        const asked = await api.ask(below(found, '/refs'), {
          query: {
            ...VERSION,
            filter: 'heads/',
            filterContains: query || null,
            $top: page * perPage + 1,
          },
          shape: shapes.refs,
          what: `the repository ${repository}`,
        });
        return mapAnswer(asked, (all) => ({
          items: all.slice((page - 1) * perPage, page * perPage),
          more: all.length > page * perPage,
          total: null,
        }));
      }),

    file: (repository, path, ref, signal) =>
      at(repository, signal, async (api, found) => {
        const what = `the file ${path} in ${repository}`;
        const address = apiPath`${pathSegments(path)}` && below(found, '/items');
        const query = { ...VERSION, path: `/${path}`, includeContent: true, $format: 'json' };
        const asked = await atVersion(ref, (version) =>
          api.ask(address, { query: { ...query, ...version }, shape: shapes.item, what }),
        );
        if (asked.kind !== 'ok') return asked;
        if (asked.value.gitObjectType !== 'blob') return failureOf(api.place, 'not_found', what);
        return textFile(path, asked.value.content ?? '', what);
      }),

    folder: (repository, path, ref, signal) =>
      at(repository, signal, async (api, found) => {
        const what = `the folder ${path || '/'} in ${repository}`;
        const isPath = path === '' || apiPath`${pathSegments(path)}` !== null;
        const query = { ...VERSION, scopePath: `/${path}`, recursionLevel: 'OneLevel' };
        const asked = await atVersion(ref, (version) =>
          api.ask(isPath ? below(found, '/items') : null, {
            query: { ...query, ...version },
            shape: shapes.items,
            what,
          }),
        );
        if (asked.kind !== 'ok') return asked;
        // The folder stands among what is in it.
        const [self] = asked.value.filter((item) => item.path === `/${path}`);
        if (self?.gitObjectType !== 'tree') return failureOf(api.place, 'not_found', what);
        return ok(
          asked.value
            .filter((item) => item !== self)
            .slice(0, 1_000)
            .map(shapes.entryOf),
        );
      }),

    issue: (repository, number, signal) =>
      at(repository, signal, (api, found) => workItem(api, found, number)),

    issueComments: (repository, number, which, signal) =>
      at(repository, signal, (api, found) => workItemComments(api, found, number, which)),

    addIssueComment: (repository, number, body, signal) =>
      at(repository, signal, (api, found) => addWorkItemComment(api, found, number, body)),

    pullRequest: (repository, number, signal) =>
      at(repository, signal, async (api, found) =>
        mapAnswer(
          await api.ask(below(found, apiPath`/pullrequests/${number}`), {
            query: VERSION,
            shape: shapes.pullRequest,
            what: `the pull request ${number} of ${repository}`,
          }),
          (given) => pullRequestOf(api, found, given),
        ),
      ),

    pullRequestComments: (repository, number, { page, perPage }, signal) =>
      at(repository, signal, async (api, found) =>
        mapAnswer(await threads(api, found, number), (all) => {
          const said = all.flatMap(({ place: line, comments }) => (line === null ? comments : []));
          const items = said.slice((page - 1) * perPage, page * perPage);
          return { items, more: said.length > page * perPage, total: said.length };
        }),
      ),

    addPullRequestComment: (repository, number, body, signal) =>
      at(repository, signal, async (api, found) => {
        const what = `a comment on the pull request ${number} of ${repository}`;
        const made = await api.ask(below(found, apiPath`/pullRequests/${number}/threads`), {
          method: 'POST',
          query: VERSION,
          // Without a status: as active it would have to be resolved.
          body: { comments: [{ parentCommentId: 0, content: body, commentType: 'text' }] },
          shape: shapes.thread,
          what,
        });
        if (made.kind !== 'ok') return made;
        const comment: Comment | undefined = made.value.comments[0];
        return comment ? ok(comment) : { ...failureOf(api.place, 'unexpected', what), mayBeDone: true };
      }),

    reviewComments: (repository, number, signal) =>
      at(repository, signal, (api, found) => reviewComments(api, found, number)),

    openPullRequest: (repository, { title, body, head, base: into, isDraft }, signal) =>
      at(repository, signal, async (api, found) =>
        mapAnswer(
          await api.ask(below(found, '/pullrequests'), {
            method: 'POST',
            query: VERSION,
            body: {
              title,
              description: body,
              sourceRefName: `refs/heads/${head}`,
              targetRefName: `refs/heads/${into}`,
              isDraft,
            },
            shape: shapes.pullRequest,
            what: `a pull request in ${repository}`,
          }),
          (given) => pullRequestOf(api, found, given),
        ),
      ),

    checks: (repository, ref, signal) =>
      at(repository, signal, async (api, found) => {
        const commit = await commitOf(api, found, ref);
        return commit.kind === 'ok' ? checksOf(api, found, commit.value) : commit;
      }),

    ownPullRequests: (signal) => within(signal, 'your pull requests', ownPullRequests),

    assignedIssues: (signal) => within(signal, 'your work items', assignedIssues),
  };
}

/** Azure answers a wrong token, or none, with its sign-in page. */
function judged(status: number, hasToken: boolean): ProviderFailure['kind'] | undefined {
  if (status !== 203 && status !== 302) return undefined;
  return hasToken ? 'refused' : 'no_token';
}

function repositoryOf(organisation: string, given: (typeof shapes.repository)['_output']): Repository {
  const { project } = given;
  return {
    id: given.id,
    fullName: [organisation, nameOrId(project.name, project.id), nameOrId(given.name, given.id)].join('/'),
    isPublic: project.visibility === 'public',
    defaultBranch: given.defaultBranch?.replace(/^refs\/heads\//, '') ?? null,
    stars: null,
    pushedAt: null,
    ownerType: 'organization',
  };
}

function pullRequestOf(
  api: Api,
  { organisation, project, name }: Located,
  { request }: (typeof shapes.pullRequest)['_output'],
): PullRequest {
  const { head } = request;
  const repository = head.repository === null ? null : `${organisation}/${head.repository}`;
  const url = `${api.place.root}${apiPath`/${project}/_git/${name}/pullrequest/${request.number}`}`;
  return { ...request, head: { ...head, repository }, url };
}

function isCommit(ref: string): boolean {
  return /^[0-9a-f]{40}$/.test(ref);
}

/** Azure must be told whether a name is a branch's or a tag's. */
async function atVersion<T>(
  ref: string | null,
  ask: (version: Record<string, string>) => Promise<Answer<T>>,
): Promise<Answer<T>> {
  if (ref === null) return ask({});
  const of = (versionType: string) =>
    ask({ 'versionDescriptor.version': ref, 'versionDescriptor.versionType': versionType });
  if (isCommit(ref)) return of('commit');
  const asked = await of('branch');
  return asked.kind === 'not_found' ? of('tag') : asked;
}

async function commitOf(api: Api, at: Located, ref: string): Promise<Answer<string>> {
  if (isCommit(ref)) return ok(ref);
  const what = `the branch ${ref} of ${at.name}`;
  const asked = await api.ask(below(at, '/refs'), {
    query: { ...VERSION, filter: `heads/${ref}` },
    shape: shapes.refs,
    what,
  });
  if (asked.kind !== 'ok') return asked;
  const branch = asked.value.find(({ name }) => name === ref);
  return branch ? ok(branch.commit) : failureOf(api.place, 'not_found', what);
}

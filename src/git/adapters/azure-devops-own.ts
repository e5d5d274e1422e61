import { type Answer, mapAnswer, ok } from '../answer.ts';
import { apiPath } from '../api-path.ts';
import type { Api } from '../api.ts';
import type { AssignedIssue, Checks, OwnPullRequest, ReviewComment } from '../git-provider.ts';
import { overallState } from '../overall-state.ts';
import { askEach } from '../side-by-side.ts';
import { below, type Located, nameOrId, VERSION } from './azure-devops-place.ts';
import * as shapes from './azure-devops-shapes.ts';

/** What is gathered from the projects of an organisation: Azure tells of one at a time. */

export function connection(api: Api) {
  return api.ask('/_apis/connectionData', { shape: shapes.connection, what: 'the account' });
}

export function projects(api: Api) {
  return api.ask('/_apis/projects', {
    query: { ...VERSION, $top: 100 },
    shape: shapes.projects,
    what: 'the projects',
  });
}

/** Projects that are looked through for own pull requests, and pull requests that are looked at: each costs four requests. */
const PROJECTS = 25;
const OWN = 20;

export async function ownPullRequests(api: Api, organisation: string): Promise<Answer<OwnPullRequest[]>> {
  const [me, all] = await Promise.all([connection(api), projects(api)]);
  if (me.kind !== 'ok') return me;
  if (all.kind !== 'ok') return all;
  const newest = all.value
    .toSorted((a, b) => ((a.lastUpdateTime ?? '') < (b.lastUpdateTime ?? '') ? 1 : -1))
    .slice(0, PROJECTS);
  const lists = await askEach(newest, ({ id }) =>
    api.ask(apiPath`/${id}/_apis/git/pullrequests`, {
      query: {
        ...VERSION,
        'searchCriteria.creatorId': me.value.id,
        'searchCriteria.status': 'active',
        $top: OWN,
      },
      shape: shapes.pullRequests,
      what: 'your pull requests',
    }),
  );
  if (lists.kind !== 'ok') return lists;
  return askEach(lists.value.flat().slice(0, OWN), (own) => standing(api, organisation, own));
}

async function standing(
  api: Api,
  organisation: string,
  { request, hasConflicts, project, repository }: (typeof shapes.pullRequest)['_output'],
): Promise<Answer<OwnPullRequest>> {
  const at = { organisation, project: project.id, name: repository.id };
  const { commit } = request.head;
  const [policies, said, checks] = await Promise.all([
    api.ask(apiPath`/${project.id}/_apis/policy/evaluations`, {
      query: {
        'api-version': '7.1-preview.1',
        artifactId: `vstfs:///CodeReview/CodeReviewId/${project.id}/${request.number}`,
      },
      shape: shapes.policyEvaluations,
      what: `the policies of the pull request ${request.number}`,
    }),
    reviewComments(api, at, request.number),
    commit === null ? ok(null) : checksOf(api, at, commit),
  ]);
  if (policies.kind !== 'ok') return policies;
  if (said.kind !== 'ok') return said;
  if (checks.kind !== 'ok') return checks;
  const name = nameOrId(repository.name, repository.id);
  return ok({
    repository: `${organisation}/${nameOrId(project.name, project.id)}/${name}`,
    number: request.number,
    title: request.title,
    hasConflicts,
    hasFailingChecks: policies.value.some(({ isFailing }) => isFailing) || checks.value?.state === 'failure',
    hasUnresolvedComments: said.value.some(({ isResolved }) => isResolved === false),
  });
}

export function threads(api: Api, at: Located, number: number) {
  return api.ask(below(at, apiPath`/pullRequests/${number}/threads`), {
    query: VERSION,
    shape: shapes.threads,
    what: `the comments of the pull request ${number} of ${at.name}`,
  });
}

export async function reviewComments(
  api: Api,
  at: Located,
  number: number,
): Promise<Answer<ReviewComment[]>> {
  return mapAnswer(await threads(api, at, number), (all) =>
    all
      .slice(0, 100)
      .flatMap(({ place, isResolved, comments }) =>
        place === null ? [] : comments.map((comment) => ({ ...comment, ...place, isResolved })),
      ),
  );
}

/** Builds of the repository that are looked through for those of a commit. */
const BUILDS = 100;

/** Pipelines, which set no status, and what others set. */
export async function checksOf(api: Api, at: Located, commit: string): Promise<Answer<Checks>> {
  const what = `the checks of ${commit} in ${at.name}`;
  const repository = await api.ask(below(at, ''), { query: VERSION, shape: shapes.repository, what });
  if (repository.kind !== 'ok') return repository;
  const [statuses, builds] = await Promise.all([
    api.ask(below(at, apiPath`/commits/${commit}/statuses`), {
      query: { ...VERSION, latestOnly: true, top: 100 },
      shape: shapes.commitStatuses,
      what,
    }),
    api.ask(apiPath`/${at.project}/_apis/build/builds`, {
      query: {
        ...VERSION,
        repositoryId: repository.value.id,
        repositoryType: 'TfsGit',
        queryOrder: 'queueTimeDescending',
        $top: BUILDS,
      },
      shape: shapes.builds,
      what,
    }),
  ]);
  if (statuses.kind !== 'ok') return statuses;
  if (builds.kind !== 'ok') return builds;
  const found = new Map(statuses.value.map((status) => [status.name, status]));
  for (const build of builds.value) {
    // The newest of a pipeline counts, and comes first.
    if (build.commit === commit && !found.has(build.check.name)) found.set(build.check.name, build.check);
  }
  const checks = [...found.values()];
  return ok({ state: overallState(checks), checks });
}

const ASSIGNED = `SELECT [System.Id] FROM WorkItems
WHERE [System.AssignedTo] = @Me AND [System.State] NOT IN ('Closed', 'Done', 'Removed', 'Completed', 'Resolved')
ORDER BY [System.ChangedDate] DESC`;

/**
 * Work items belong to a project, not to a repository: they are of its repository where it has one alone, or one of its
 * own name. Others are left out.
 */
export async function assignedIssues(api: Api, organisation: string): Promise<Answer<AssignedIssue[]>> {
  const what = 'your work items';
  const found = await api.ask('/_apis/wit/wiql', {
    method: 'POST',
    isSearch: true,
    query: { ...VERSION, $top: 50 },
    body: { query: ASSIGNED },
    shape: shapes.foundWorkItems,
    what,
  });
  if (found.kind !== 'ok') return found;
  const ids = found.value.workItems.slice(0, 50).map(({ id }) => id);
  if (ids.length === 0) return ok([]);
  const [items, repositories] = await Promise.all([
    api.ask('/_apis/wit/workitems', {
      query: { ...VERSION, ids: ids.join(','), fields: 'System.Title,System.TeamProject' },
      shape: shapes.workItems,
      what,
    }),
    api.ask('/_apis/git/repositories', { query: VERSION, shape: shapes.repositories, what }),
  ]);
  if (items.kind !== 'ok') return items;
  if (repositories.kind !== 'ok') return repositories;
  return ok(
    items.value.flatMap(({ id, fields }) => {
      const project = fields['System.TeamProject'];
      const own = repositories.value.filter((one) => one.project.name === project && one.isDisabled !== true);
      const one = own.length === 1 ? own[0] : own.find(({ name }) => name === project);
      if (!one) return [];
      const names = [nameOrId(project, one.project.id), nameOrId(one.name, one.id)];
      return [{ repository: [organisation, ...names].join('/'), number: id, title: fields['System.Title'] }];
    }),
  );
}

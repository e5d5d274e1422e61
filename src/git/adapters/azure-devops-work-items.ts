import { type Answer, mapAnswer, ok } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import { apiPath } from '../api-path.ts';
import type { Api } from '../api.ts';
import type { Comment, Issue, Page, PageOf } from '../git-provider.ts';
import { below, type Located, VERSION } from './azure-devops-place.ts';
import * as shapes from './azure-devops-shapes.ts';

/** The only versions that comments have. */
const COMMENTS_VERSION = '7.1-preview.4';

/**
 * A work item of the repository's project. Those of an organisation are numbered together, and the reference does not
 * say that the project in an address is looked at: one of another project is not found here.
 */
export async function workItem(api: Api, at: Located, number: number): Promise<Answer<Issue>> {
  const what = `the work item ${number} of ${at.project}`;
  const asked = await api.ask(apiPath`/${at.project}/_apis/wit/workitems/${number}`, {
    query: { ...VERSION, $expand: 'links' },
    shape: shapes.workItem,
    what,
  });
  if (asked.kind !== 'ok') return asked;
  const { project, issue } = asked.value;
  const here = await isProject(api, at, project);
  if (here.kind !== 'ok') return here;
  return here.value ? ok(issue) : failureOf(api.place, 'not_found', what);
}

/** A repository may be named by its project's id, too, or by a name that the project had before. */
async function isProject(api: Api, at: Located, project: string): Promise<Answer<boolean>> {
  const name = project.toLowerCase();
  if (at.project.toLowerCase() === name) return ok(true);
  const asked = await api.ask(below(at, ''), {
    query: VERSION,
    shape: shapes.repository,
    what: `the repository ${at.name} of ${at.project}`,
  });
  return mapAnswer(asked, (repository) => repository.project.name.toLowerCase() === name);
}

export async function workItemComments(
  api: Api,
  at: Located,
  number: number,
  { page, perPage }: PageOf,
): Promise<Answer<Page<Comment>>> {
  const item = await workItem(api, at, number);
  if (item.kind !== 'ok') return item;
  const asked = await api.ask(commentsPath(at, number), {
    query: { 'api-version': COMMENTS_VERSION, order: 'asc', $top: Math.min(200, page * perPage) },
    shape: shapes.workItemComments,
    what: `the comments of the work item ${number} of ${at.project}`,
  });
  return mapAnswer(asked, ({ comments, totalCount }) => ({
    items: comments.slice((page - 1) * perPage, page * perPage),
    more: Math.min(totalCount, 200) > page * perPage,
    total: totalCount,
  }));
}

export async function addWorkItemComment(
  api: Api,
  at: Located,
  number: number,
  text: string,
): Promise<Answer<Comment>> {
  const item = await workItem(api, at, number);
  if (item.kind !== 'ok') return item;
  return await api.ask(commentsPath(at, number), {
    method: 'POST',
    query: { 'api-version': COMMENTS_VERSION, format: 'markdown' },
    body: { text },
    shape: shapes.workItemComment,
    what: `a comment on the work item ${number} of ${at.project}`,
  });
}

function commentsPath({ project }: Located, number: number) {
  return apiPath`/${project}/_apis/wit/workItems/${number}/comments`;
}

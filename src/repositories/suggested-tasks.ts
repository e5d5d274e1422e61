import { type SuggestedTask, suggestedTask } from '../contract/conversations.ts';
import type { ProviderName } from '../contract/providers.ts';
import { mapAnswer } from '../git/answer.ts';
import type { OwnPullRequest } from '../git/git-provider.ts';
import type { Account } from './accounts.ts';
import { askAll, type Found } from './asking.ts';

/** The longest title that a conversation takes. */
const TITLE = 1_000;

interface Task {
  task_type: SuggestedTask['task_type'];
  repository: string;
  number: number;
  title: string;
}

/**
 * What there is to do at all providers: the user's own open requests that something keeps from being merged, each by
 * what comes first (conflicts, then failing checks, then open comments), and the issues assigned to the user. Each can
 * be given as `suggested_task` when a conversation is created.
 */
export async function findSuggestedTasks(
  accounts: readonly Account[],
  signal: AbortSignal,
): Promise<Found<SuggestedTask[]>> {
  const { value, failures } = await askAll<Task[]>(
    accounts,
    async (git) => mapAnswer(await git.ownPullRequests(signal), (requests) => requests.flatMap(taskOf)),
    async (git) =>
      mapAnswer(await git.assignedIssues(signal), (issues) =>
        issues.map((issue) => ({ ...issue, task_type: 'OPEN_ISSUE' as const })),
      ),
  );
  return {
    value: value.flatMap((told) => told.value.flatMap((task) => startable(told.provider, task))),
    failures,
  };
}

function taskOf({ repository, number, title, ...request }: OwnPullRequest): Task[] {
  const task_type = obstacleOf(request);
  return task_type === null ? [] : [{ task_type, repository, number, title }];
}

function obstacleOf(
  request: Pick<OwnPullRequest, 'hasConflicts' | 'hasFailingChecks' | 'hasUnresolvedComments'>,
): SuggestedTask['task_type'] | null {
  if (request.hasConflicts) return 'MERGE_CONFLICTS';
  if (request.hasFailingChecks) return 'FAILING_CHECKS';
  return request.hasUnresolvedComments ? 'UNRESOLVED_COMMENTS' : null;
}

/** Nothing where a conversation could not be created for it: a title is anybody's text, and so is a name. */
function startable(provider: ProviderName, { task_type, repository, number, title }: Task): SuggestedTask[] {
  const { data } = suggestedTask.safeParse({
    git_provider: provider,
    task_type,
    repo: repository,
    issue_number: number,
    title: oneLine(title).slice(0, TITLE).toWellFormed(),
  });
  return data ? [data] : [];
}

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- a line must hold none
  return text.replaceAll(/[\s\u0000-\u001f\u007f]+/g, ' ').trim();
}

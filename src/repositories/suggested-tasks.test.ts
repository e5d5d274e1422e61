import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failed, told } from '../../test/support/git/providers/played.ts';
import { ann, never, serviceOf } from '../../test/support/git/user-repositories.ts';

describe('suggested tasks', () => {
  const request = (number: number, more: object = {}) => ({
    repository: 'acme/app',
    number,
    title: 'T',
    hasConflicts: false,
    hasFailingChecks: false,
    hasUnresolvedComments: false,
    ...more,
  });

  it('are what keeps own requests from being merged, the first of it, and assigned issues, of all providers', async () => {
    const { service } = serviceOf({
      github: {
        ownPullRequests: told([
          request(1, { hasConflicts: true, hasFailingChecks: true, hasUnresolvedComments: true }),
          request(2, { hasFailingChecks: true, hasUnresolvedComments: true }),
          request(3, { hasUnresolvedComments: true }),
          request(4),
        ]),
        assignedIssues: told([{ repository: 'acme/app', number: 5, title: 'I' }]),
      },
      gitlab: { ownPullRequests: told([request(6, { hasConflicts: true })]), assignedIssues: told([]) },
    });
    const { value, failures } = await service.suggestedTasks(ann, never);
    assert.deepEqual(
      value.map((task) => [task.git_provider, task.task_type, task.issue_number]),
      [
        ['github', 'MERGE_CONFLICTS', 1],
        ['github', 'FAILING_CHECKS', 2],
        ['github', 'UNRESOLVED_COMMENTS', 3],
        ['github', 'OPEN_ISSUE', 5],
        ['gitlab', 'MERGE_CONFLICTS', 6],
      ],
    );
    assert.deepEqual(failures, []);
  });

  it('of one provider, and of one of its questions, are there when another fails, which is named once', async () => {
    const { service } = serviceOf({
      github: {
        ownPullRequests: failed('unavailable'),
        assignedIssues: told([{ repository: 'a/b', number: 5, title: 'I' }]),
      },
      gitlab: { ownPullRequests: failed('refused'), assignedIssues: failed('refused') },
      // Has no issues.
      bitbucket: { ownPullRequests: told([request(7, { hasFailingChecks: true })]) },
    });
    const { value, failures } = await service.suggestedTasks(ann, never);
    assert.deepEqual(
      value.map(({ git_provider, issue_number }) => [git_provider, issue_number]),
      [
        ['github', 5],
        ['bitbucket', 7],
      ],
    );
    assert.deepEqual(
      failures.map(({ provider, code }) => [provider, code]),
      [
        ['github', 'provider_unavailable'],
        ['gitlab', 'provider_token_refused'],
      ],
    );
  });

  it('can each be given to a new conversation: a title is one line, and what none could be made of is left out', async () => {
    const issue = (repository: string, title: string) => ({ repository, number: 1, title });
    const { service } = serviceOf({
      github: {
        assignedIssues: told([
          issue('acme/app', `two\nlines\u0000 and ${'x'.repeat(2_000)}`),
          issue('../../etc/passwd', 'T'),
          { ...issue('acme/app', 'T'), number: -1 },
        ]),
        ownPullRequests: told([]),
      },
    });
    const { value } = await service.suggestedTasks(ann, never);
    assert.equal(value.length, 1);
    assert.match(value[0]?.title ?? '', /^two lines and x{50}/);
    assert.equal(value[0]?.title.length, 1_000);
  });

  it('are none, and nobody is asked, when the user does not want them', async () => {
    const stage = serviceOf({
      github: { ownPullRequests: () => assert.fail('asked'), assignedIssues: () => assert.fail('asked') },
    });
    stage.suggestsTasks = false;
    assert.deepEqual(await stage.service.suggestedTasks(ann, never), { value: [], failures: [] });
  });
});

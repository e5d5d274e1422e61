import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TASK_TYPES, type SuggestedTask } from '../../contract/conversations.ts';
import type { ProviderName } from '../../contract/providers.ts';
import { suggestedTaskPrompt } from './suggested-task.ts';

type Asked = Exclude<ProviderName, 'enterprise_sso'>;

/** What each provider calls things; `head` is where it keeps the newest commit of a request. */
const TERMS: Readonly<
  Record<Asked, { name: string; request: string; issue: string; ci: string; head: string | null }>
> = {
  github: {
    name: 'GitHub',
    request: 'Pull Request (PR) #42',
    issue: 'issue #42',
    ci: 'GitHub Actions',
    head: 'refs/pull/42/head',
  },
  gitlab: {
    name: 'GitLab',
    request: 'Merge Request (MR) !42',
    issue: 'issue #42',
    ci: 'GitLab CI pipelines',
    head: 'refs/merge-requests/42/head',
  },
  bitbucket: {
    name: 'Bitbucket',
    request: 'Pull Request (PR) #42',
    issue: 'issue #42',
    ci: 'Bitbucket Pipelines',
    head: null,
  },
  azure_devops: {
    name: 'Azure DevOps',
    request: 'Pull Request (PR) !42',
    issue: 'work item #42',
    ci: 'Azure Pipelines',
    head: null,
  },
  forgejo: {
    name: 'Forgejo',
    request: 'Pull Request (PR) #42',
    issue: 'issue #42',
    ci: 'Forgejo Actions',
    head: 'refs/pull/42/head',
  },
};

/** What each type of task must ask for, and whether it speaks of the CI. */
const ASKS: Readonly<Record<SuggestedTask['task_type'], { asks: RegExp; ofCi: boolean }>> = {
  MERGE_CONFLICTS: { asks: /Resolve them\..*Merge the branch it goes to.*Do not force-push/s, ofCi: false },
  FAILING_CHECKS: {
    asks: /reproduce the failure.*Do not weaken, skip or delete.*every 30 seconds/s,
    ofCi: true,
  },
  UNRESOLVED_COMMENTS: { asks: /Settle them\..*Read all of the reviewers' comments/s, ofCi: false },
  OPEN_ISSUE: { asks: /Solve it\..*its comments.*new branch.*open a/s, ofCi: false },
  OPEN_PR: { asks: /where it can be merged\..*Do what is missing and no more/s, ofCi: true },
  CREATE_MICROAGENT: { asks: /\.openhands\/microagents\/<name>\.md/, ofCi: false },
};

const ABOUT_REQUESTS = new Set(['MERGE_CONFLICTS', 'FAILING_CHECKS', 'UNRESOLVED_COMMENTS', 'OPEN_PR']);

function promptOf(git_provider: Asked, task_type: SuggestedTask['task_type']): string {
  return suggestedTaskPrompt({
    git_provider,
    task_type,
    repo: 'acme/app',
    issue_number: 42,
    title: 'The door squeaks',
  });
}

describe('the prompt of a suggested task', () => {
  for (const task_type of TASK_TYPES) {
    for (const [provider, terms] of Object.entries(TERMS) as [Asked, (typeof TERMS)[Asked]][]) {
      it(`${task_type} at ${terms.name} asks for it, in its words and in no other's`, () => {
        const prompt = promptOf(provider, task_type);
        const { asks, ofCi } = ASKS[task_type];
        assert.match(prompt, asks);
        for (const part of [`repository acme/app on ${terms.name}`, '"The door squeaks"', 'Say at the end']) {
          assert.ok(prompt.includes(part), part);
        }
        const isAboutRequest = ABOUT_REQUESTS.has(task_type);
        assert.equal(prompt.includes(`You are working on ${terms.request} of`), isAboutRequest);
        assert.equal(
          prompt.includes(terms.head ?? 'can be fetched as'),
          isAboutRequest && terms.head !== null,
        );
        assert.equal(prompt.includes(`You are working on ${terms.issue} of`), task_type === 'OPEN_ISSUE');
        assert.equal(prompt.includes(terms.ci), ofCi);
        for (const other of Object.values(TERMS)) {
          if (other === terms) continue;
          assert.ok(!prompt.includes(other.name) && !prompt.includes(other.ci), other.name);
        }
        assert.doesNotMatch(prompt, provider === 'gitlab' ? /Pull Request|\bPR\b/ : /Merge Request|\bMR\b/);
        assert.doesNotMatch(prompt, /undefined|null|\$\{|_TOKEN/);
      });
    }
  }

  it('is another for each type and each provider', () => {
    const all = TASK_TYPES.flatMap((type) =>
      (Object.keys(TERMS) as Asked[]).map((provider) => promptOf(provider, type)),
    );
    assert.equal(new Set(all).size, 30);
  });
});

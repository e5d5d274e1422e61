import type { SuggestedTask } from '../../contract/conversations.ts';
import type { ProviderName } from '../../contract/providers.ts';
import { WORDS, type Words } from '../tools/provider/provider-words.ts';

type Prompt = (task: SuggestedTask, words: Words) => string;

/** Where git finds the newest commit of a request; "" where it does not. */
const REFERENCE: Readonly<Record<ProviderName, (number: number) => string>> = {
  github: (number) => `refs/pull/${number}/head`,
  gitlab: (number) => `refs/merge-requests/${number}/head`,
  bitbucket: () => '',
  // Azure has but a merge of it with the branch it goes to, and none where they conflict.
  azure_devops: () => '',
  forgejo: (number) => `refs/pull/${number}/head`,
  enterprise_sso: () => '',
};

/** The task that a provider's list suggested, in words for the agent. */
export function suggestedTaskPrompt(task: SuggestedTask): string {
  return PROMPTS[task.task_type](task, WORDS[task.git_provider]);
}

/** The opening of all tasks about an open request. */
function aboutRequest(
  { repo, issue_number, title }: SuggestedTask,
  { request, short, mark, provider }: Words,
): string {
  return `You are working on ${request} (${short}) ${mark}${issue_number} of the repository ${repo} on ${provider}: "${title}".`;
}

function checkOut({ git_provider, issue_number }: SuggestedTask, { short, provider }: Words): string {
  const reference = REFERENCE[git_provider](issue_number);
  const fetched = reference === '' ? '' : ` (its head can be fetched as ${reference})`;
  return `Find out, by your tools for ${provider} where you have some, which branch the ${short} comes from and which it goes to, fetch both, and check the ${short}'s branch out${fetched}. Read its diff against the branch it goes to, so that you know what it is for.`;
}

const PROMPTS: Readonly<Record<SuggestedTask['task_type'], Prompt>> = {
  MERGE_CONFLICTS: (task, words) => `${aboutRequest(task, words)}
It has merge conflicts. Resolve them.

1. ${checkOut(task, words)}
2. Merge the branch it goes to into it, and look at each conflict. Keep what both sides meant; where that is not plain, read the commits that made the conflicting lines.
3. Run the tests and linters that are there.
4. Commit the merge and push it to the ${words.short}'s branch. Do not force-push.
Say at the end how each conflict was resolved.`,

  FAILING_CHECKS: (task, words) => `${aboutRequest(task, words)}
Its checks fail in ${words.ci}. Make them pass.

1. ${checkOut(task, words)}
2. Read the repository's definition of its checks, find out which fail for the newest commit, and reproduce the failure here.
3. Mend the cause. Do not weaken, skip or delete a check to have it pass.
4. Run the same checks here until they pass, then commit and push to the ${words.short}'s branch.
5. If your tools for ${words.provider} show the state of ${words.ci}, wait for the new checks, looking every 30 seconds, and go on while one fails.
Say at the end what was wrong, and which checks you saw pass and where.`,

  UNRESOLVED_COMMENTS: (task, words) => `${aboutRequest(task, words)}
Reviewers left comments that are not resolved. Settle them.

1. ${checkOut(task, words)}
2. Read all of the reviewers' comments, by your tools for ${words.provider}. If they cannot be read from here, ask the user to paste them.
3. Do what each open comment asks for. Where one is mistaken or goes beyond the ${words.short}, do not change the code, and say why.
4. Run the tests and linters that are there, then commit and push to the ${words.short}'s branch.
Say at the end, comment by comment, what you did.`,

  OPEN_ISSUE: ({ repo, issue_number, title }, { provider, request, short, issue }) =>
    `You are working on ${issue} #${issue_number} of the repository ${repo} on ${provider}: "${title}". Solve it.

1. Read the ${issue} and its comments, by your tools for ${provider}. If they cannot be read from here, go by the title and the code, and ask the user when that is not enough.
2. Make a new branch with a name that fits, and find out where in the code the matter lies. Reproduce it when it is a bug.
3. Make the change, with a test that fails without it. Run the tests and linters that are there.
4. Commit, push the branch, and open a ${request} (${short}) that refers to ${issue} #${issue_number}. If that cannot be done from here, give the user its title, its text and the address that the push showed.
Say at the end what you changed and how you checked it.`,

  OPEN_PR: (task, words) => `${aboutRequest(task, words)}
Bring it to the point where it can be merged.

1. ${checkOut(task, words)}
2. See what it lacks: parts of its purpose that are not done, tests, documentation, conflicts with the branch it goes to, failing checks in ${words.ci}, open comments of reviewers.
3. Do what is missing and no more. Run the tests and linters that are there.
4. Commit and push to the ${words.short}'s branch.
Say at the end what you added, and what still needs a person's decision.`,

  CREATE_MICROAGENT: ({ repo, title }, { provider }) => microagentPrompt(repo, title, provider),
};

/** The task to write a microagent: knowledge in the repository that is told to agents who work on it. */
export function microagentPrompt(repo: string, title: string | null, provider: string | null = null): string {
  const subject = title ? `about: "${title}"` : 'with what every newcomer to it has to know';
  return `Write a microagent for the repository ${repo}${provider ? ` on ${provider}` : ''} ${subject}. A microagent is a Markdown file in the repository that is told to the agents who work on it.

1. Read the repository to find out what holds for the subject: commands that really work, where things are, conventions, traps. Try the commands that you write down.
2. Look at the files that are already in .openhands/microagents, to keep their form and to repeat nothing.
3. Write .openhands/microagents/<name>.md, with a short name in lower case with hyphens that says what it is about. It begins with a block between two lines of --- that has the member triggers, a list of the words in a message that shall bring the file up; leave the block out for knowledge that holds for every task. Keep it under 100 lines, in plain sentences.
4. Commit the file on a new branch and push it.
Say at the end what you wrote and how you made sure that it is true.`;
}

export function providerCalled(provider: ProviderName): string {
  return WORDS[provider].provider;
}

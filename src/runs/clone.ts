import type { ConversationError } from '../contract/conversations.ts';
import type { CommandOutcome, Sandbox } from '../sandbox/sandbox.ts';

export interface CloneOptions {
  /** The repository's address, without a credential. */
  url: string;
  /** `owner/name`, for what is said to people. */
  repository: string;
  /** The folder in the workspace, one path part. */
  directory: string;
  /** The branch to check out, which must be there; or the one to make from the default branch. */
  branch: { name: string; made: boolean };
  signal: AbortSignal;
}

export type CloneFailure = { runtimeStatus: string; error: ConversationError };
export type CloneOutcome = { ok: true } | ({ ok: false } & CloneFailure);

const CLONE_MS = 15 * 60 * 1000;
const CHECKOUT_MS = 2 * 60 * 1000;

/**
 * Where the conversation's branch began: a push moves the branch's remote counterpart, but not this. An empty
 * repository has no commit to name.
 */
export const START_REF = 'refs/parley/start';
const NOTE_START = `{ ! git rev-parse --quiet --verify HEAD >/dev/null || git update-ref ${START_REF} HEAD; }`;

/**
 * Clones into the workspace, from inside the sandbox: git never runs over a workspace outside of it. What an
 * interrupted attempt left is removed first.
 */
export async function cloneRepository(sandbox: Sandbox, options: CloneOptions): Promise<CloneOutcome> {
  const { url, directory, branch, signal } = options;
  const folder = quote(directory);
  const cloned = await sandbox.exec(
    `cd -- ${quote(sandbox.root)} && rm -rf -- ${folder} && LC_ALL=C git clone --quiet -- ${quote(url)} ${folder}`,
    { timeoutMs: CLONE_MS, signal },
  );
  if (cloned.kind !== 'exited' || cloned.exitCode !== 0)
    return { ok: false, ...cloneFailure(cloned, options) };
  const checkout = branch.made
    ? `git checkout --quiet -b ${quote(branch.name)}`
    : `git checkout --quiet ${quote(branch.name)} --`;
  const checked = await sandbox.exec(
    `cd -- ${quote(sandbox.root)}/${folder} && LC_ALL=C ${checkout} && ${NOTE_START}`,
    { timeoutMs: CHECKOUT_MS, signal },
  );
  if (checked.kind === 'exited' && checked.exitCode === 0) return { ok: true };
  return { ok: false, ...checkoutFailure(checked, options) };
}

function cloneFailure(outcome: CommandOutcome, { repository }: CloneOptions): CloneFailure {
  const { output } = outcome;
  if (outcome.kind === 'timed_out') {
    return failure(
      'STATUS$ERROR',
      'clone_timed_out',
      `Cloning ${repository} took longer than ${CLONE_MS / 60_000} minutes.`,
      'Check that the git provider answers, then start the conversation again.',
    );
  }
  if (/Authentication failed|could not read Username|returned error: 40[13]/i.test(output)) {
    return failure(
      'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR',
      'git_authentication_failed',
      `The git provider refused access to ${repository}. ${said(output)}`,
      'Store a token that may read it (POST /api/add-git-providers), then start the conversation again.',
    );
  }
  if (/repository .*not found|returned error: 404|does not appear to be a git repository/i.test(output)) {
    return failure(
      'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR',
      'repository_not_found',
      `The git provider knows no repository ${repository} that it would show us. ${said(output)}`,
      'Check its name and git_provider; a private repository needs a token (POST /api/add-git-providers).',
    );
  }
  return failure(
    'STATUS$ERROR',
    'clone_failed',
    `Cloning ${repository} failed. ${outcome.reason ?? said(output)}`,
    'When the cause is gone, start the conversation again.',
  );
}

function checkoutFailure(outcome: CommandOutcome, { repository, branch }: CloneOptions): CloneFailure {
  if (!branch.made && /did not match any|invalid reference|unknown revision/i.test(outcome.output)) {
    return failure(
      'STATUS$ERROR',
      'branch_not_found',
      `${repository} has no branch ${branch.name}.`,
      'Create the conversation again with a branch that is there, or without selected_branch.',
    );
  }
  return failure(
    'STATUS$ERROR',
    'checkout_failed',
    `Branch ${branch.name} of ${repository} could not be checked out. ${outcome.reason ?? said(outcome.output)}`,
    'When the cause is gone, start the conversation again.',
  );
}

function failure(runtimeStatus: string, code: string, message: string, hint: string): CloneFailure {
  return { runtimeStatus, error: { code, message: message.trim(), hint } };
}

/** The lines in which git, the gateway or the host say what was wrong. */
function said(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(fatal|error|remote|gateway|bash|No space)/i.test(line));
  return lines.slice(-3).join(' ').slice(0, 500);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

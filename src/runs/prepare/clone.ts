import type { ProviderFailure } from '../../git/answer.ts';
import type { CommandOutcome, Sandbox } from '../../sandbox/sandbox.ts';
import { CLONE_MS, cloneFailure, type CloneFailure, failure, said } from './clone-failure.ts';

export interface CloneOptions {
  /** The repository's address, without a credential. */
  url: string;
  /** `owner/name`, for what is said to people. */
  repository: string;
  /** The folder in the workspace, one path part. */
  directory: string;
  /** The branch to check out, which must be there; or the one to make from the default branch. */
  branch: { name: string; made: boolean };
  /** Asks the provider why the repository can't be had; null when it sees no reason, or can't be asked. */
  askWhy: () => Promise<ProviderFailure | null>;
  signal: AbortSignal;
}

export type CloneOutcome = { ok: true } | ({ ok: false } & CloneFailure);

/**
 * Where the conversation's branch began: a push moves the branch's remote counterpart, but not this. An empty
 * repository has no commit to name.
 */
export const START_REF = 'refs/parley/start';
const NOTE_START = `{ git update-ref ${START_REF} HEAD || ! git rev-parse --quiet --verify HEAD >/dev/null; }`;

/** Git itself ends with 1, 128 or 129. */
const CHECKOUT_FAILED = 77;

/**
 * Clones into the workspace, from inside the sandbox: git never runs over a workspace outside of it. What an
 * interrupted attempt left is removed first.
 */
export async function cloneRepository(sandbox: Sandbox, options: CloneOptions): Promise<CloneOutcome> {
  const { url, directory, branch, signal } = options;
  const folder = quote(directory);
  const checkout = branch.made
    ? `git checkout --quiet -b ${quote(branch.name)}`
    : `git checkout --quiet ${quote(branch.name)} --`;
  // Files are written once, for the branch they are wanted of; and what was fetched goes to the disk meanwhile, where
  // git would wait for it first.
  const made = await sandbox.exec(
    `cd -- ${quote(sandbox.root)} && rm -rf -- ${folder} &&
      LC_ALL=C git -c core.fsync=none clone --quiet --no-checkout -- ${quote(url)} ${folder} && cd -- ${folder} || exit
    sync .git/objects/pack/* 2>/dev/null &
    LC_ALL=C ${checkout} && ${NOTE_START} || exit ${CHECKOUT_FAILED}
    wait`,
    { timeoutMs: CLONE_MS, signal },
  );
  if (made.kind === 'exited' && made.exitCode === 0) return { ok: true };
  const why =
    made.kind === 'exited' && made.exitCode === CHECKOUT_FAILED
      ? checkoutFailure(made, options)
      : await cloneFailure(made, options);
  return { ok: false, ...why };
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

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

import type { MicroagentContent, MicroagentEntry } from '../contract/git.ts';
import { MICROAGENT_FOLDER, INSTRUCTION_FILES, parseMicroagent } from '../microagents/microagent.ts';
import { type Answer, ok } from '../git/answer.ts';
import type { AskableProvider, FolderEntry, GitProvider } from '../git/git-provider.ts';
import type { Account } from './accounts.ts';
import { askForOne, type Found } from './asking.ts';

/** The files of a repository, on its default branch, that are told to agents who work on it. */
export async function findMicroagents(
  accounts: readonly Account[],
  repository: string,
  signal: AbortSignal,
): Promise<Found<MicroagentEntry[]>> {
  const { value, failures } = await askForOne(accounts, (git, until) => entriesIn(git, repository, until), {
    missing: 'repository_not_found',
    signal,
  });
  return { value: value.value, failures };
}

/** One of them, as agents are told it. Any file of the repository that is text can be asked for. */
export async function readMicroagent(
  accounts: readonly Account[],
  repository: string,
  path: string,
  signal: AbortSignal,
): Promise<Found<MicroagentContent>> {
  const { value, failures } = await askForOne(
    accounts,
    (git, until) => git.file(repository, path, null, until),
    { missing: 'file_not_found', signal },
  );
  const { content, triggers } = parseMicroagent(nameOf(path), value.value.content);
  return { value: { content, path, triggers, git_provider: value.provider }, failures };
}

async function entriesIn(
  git: GitProvider,
  repository: string,
  signal: AbortSignal,
): Promise<Answer<MicroagentEntry[]>> {
  const [known, folder, root] = await Promise.all([
    git.repository(repository, signal),
    git.folder(repository, folderOf(git.provider, repository), null, signal),
    git.folder(repository, '', null, signal),
  ]);
  if (known.kind !== 'ok') return known;
  const entries: FolderEntry[] = [];
  for (const listed of [folder, root]) {
    if (listed.kind === 'ok')
      entries.push(...listed.value.filter(listed === root ? isInstructions : isKnowledge));
    // A repository need not have it; an empty one has not even a root.
    else if (listed.kind !== 'not_found') return listed;
  }
  const created_at = timeOf(known.value.pushedAt);
  return ok(
    entries.map(({ path }) => ({ name: nameOf(path), path, created_at, git_provider: git.provider })),
  );
}

/** A repository that is named so holds knowledge for all of its owner's, and nothing else. */
function folderOf(provider: AskableProvider, repository: string): string {
  const name = repository.split('/').at(-1);
  return name === (provider === 'gitlab' ? 'openhands-config' : '.openhands')
    ? 'microagents'
    : MICROAGENT_FOLDER;
}

function isKnowledge({ kind, name }: FolderEntry): boolean {
  return kind === 'file' && name.endsWith('.md');
}

function isInstructions({ kind, name }: FolderEntry): boolean {
  return kind === 'file' && INSTRUCTION_FILES.includes(name);
}

function nameOf(path: string): string {
  const name = path.split('/').at(-1) ?? path;
  return INSTRUCTION_FILES.includes(name) ? name : name.replace(/\.md$/, '');
}

/** Providers say when in ISO 8601; one that does not is not believed. */
function timeOf(pushedAt: string | null): string {
  const time = Date.parse(pushedAt ?? '');
  return new Date(Number.isNaN(time) ? Date.now() : time).toISOString();
}

import type { Conversation } from '../conversations/store.ts';
import { cloneUrl, gitFront } from '../git/hosts.ts';
import type { GitFront } from '../sandbox/gateway/git-front.ts';
import type { SandboxLimits } from '../sandbox/sandbox.ts';
import type { RunSettings, RunToken } from '../settings/run-settings.ts';
import type { SandboxWish } from './sandboxes.ts';

/** The repository of a conversation, as its run meets it. */
export interface Workplace {
  /** `owner/name`. */
  name: string;
  /** Its folder in the workspace. */
  directory: string;
  /** What git is told to clone. */
  url: string;
  branch: { name: string; made: boolean };
  front: GitFront;
}

/**
 * Where a conversation's repository is: at the provider it names, else at the one the user has a token for (GitHub
 * when there are several or none). Null without a repository, and where the provider has none.
 */
export function workplaceOf(row: Conversation, settings: RunSettings): Workplace | null {
  const name = row.selectedRepository;
  if (name === null) return null;
  const token = tokenFor(row, settings.tokens);
  const front = gitFront({
    provider: row.gitProvider ?? token?.provider ?? 'github',
    host: token?.host ?? '',
    repository: name,
    login: token?.login ?? null,
    token: token?.token ?? null,
  });
  if (!front) return null;
  const branch = row.selectedBranch;
  return {
    name,
    directory: name.split('/').at(-1) ?? name,
    url: cloneUrl(front),
    branch: branch ? { name: branch, made: false } : { name: `parley-${row.id.slice(0, 8)}`, made: true },
    front: { ...front, conversation: row.key },
  };
}

function tokenFor(row: Conversation, tokens: readonly RunToken[]): RunToken | undefined {
  if (row.gitProvider !== null) return tokens.find(({ provider }) => provider === row.gitProvider);
  if (tokens.length === 1) return tokens[0];
  return tokens.find(({ provider }) => provider === 'github');
}

/** The sandbox of a run: what the settings say, within the operator's limits. */
export function sandboxWish(
  settings: RunSettings,
  workplace: Workplace | null,
  limits: SandboxLimits,
): SandboxWish {
  const factor = settings.resourceFactor;
  return {
    readOnlyWorkspace: settings.agent === 'ReadOnlyAgent',
    workdir: workplace ? `/workspace/${workplace.directory}` : '/workspace',
    env: Object.fromEntries(
      Object.entries(settings.customSecrets).map(([name, { secret }]) => [name, secret]),
    ),
    identity: settings.identity,
    git: workplace?.front ?? null,
    limits: { ...limits, memoryBytes: limits.memoryBytes * factor, cpus: limits.cpus * factor },
  };
}

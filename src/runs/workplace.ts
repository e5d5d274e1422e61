import { PROVIDERS, type ProviderName } from '../contract/providers.ts';
import type { Conversation } from '../conversations/store.ts';
import type { GitProvider } from '../git/git-provider.ts';
import { cloneUrl, gitFront } from '../git/hosts.ts';
import type { GitFront } from '../sandbox/gateway/git-front.ts';
import type { SandboxLimits } from '../sandbox/sandbox.ts';
import type { Secret } from '../secrets/secret.ts';
import type { RunSettings } from '../settings/run-settings.ts';
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
  /** Its provider, asked with the same token; null for one that can't be asked. */
  provider: GitProvider | null;
  /** Whether there is a token for it. */
  hasToken: boolean;
}

/** Opens the port to a provider at a host as it was stored. */
export type AskAt = (at: {
  provider: ProviderName;
  host: string;
  token: Secret | null;
}) => GitProvider | null;

/**
 * Where a conversation's repository is: at the provider it names, else at the one that the user has stored something
 * for (GitHub when there are several or none). Null without a repository, and where the provider has none.
 */
export function workplaceOf(
  row: Conversation,
  settings: RunSettings,
  { gitProvider, submodules }: { gitProvider: AskAt; submodules: readonly string[] },
): Workplace | null {
  const name = row.selectedRepository;
  if (name === null) return null;
  const provider = row.gitProvider ?? chosenProvider(settings);
  const token = settings.tokens.find((one) => one.provider === provider);
  const host = settings.providerHosts[provider] ?? '';
  const front = gitFront({
    provider,
    host,
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
    front: { ...front, conversation: row.key, alsoReads: submodules },
    hasToken: token !== undefined,
    provider: gitProvider({ provider, host, token: token?.token ?? null }),
  };
}

function chosenProvider({ tokens, providerHosts }: RunSettings): ProviderName {
  const [first, ...more] =
    tokens.length > 0 ? tokens.map(({ provider }) => provider) : namesIn(providerHosts);
  return first !== undefined && more.length === 0 ? first : 'github';
}

function namesIn(hosts: RunSettings['providerHosts']): ProviderName[] {
  return PROVIDERS.filter((provider) => hosts[provider] !== undefined);
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

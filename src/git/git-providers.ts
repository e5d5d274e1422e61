import type { ProviderName } from '../contract/providers.ts';
import type { PlainFetch } from '../egress/plain-fetch.ts';
import type { Secret } from '../secrets/secret.ts';
import type { ProviderAccess } from './access.ts';
import { azureDevops } from './adapters/azure-devops.ts';
import { bitbucket } from './adapters/bitbucket.ts';
import { forgejo } from './adapters/forgejo.ts';
import { github } from './adapters/github.ts';
import { gitlab } from './adapters/gitlab.ts';
import { DEADLINE_MS } from './exchange.ts';
import type { AskableProvider, GitProvider } from './git-provider.ts';
import { withOwnBranches } from './own-branches.ts';
import { providerBase } from './provider-address.ts';

const ADAPTERS: Readonly<Record<AskableProvider, (access: ProviderAccess) => GitProvider>> = {
  github,
  gitlab,
  bitbucket,
  azure_devops: azureDevops,
  forgejo,
};

/**
 * A provider at one host with one token or none.
 * @returns null for who can't be asked: `enterprise_sso`, whose token is for git alone
 */
export function gitProvider(at: {
  provider: ProviderName;
  /** As stored; "" for the provider's own. */
  host: string;
  token: Secret | null;
  /** Guarded: the host is one that a user gave. */
  fetch: PlainFetch;
  /** Milliseconds for each question; ten seconds when not given. */
  deadlineMs?: number;
}): GitProvider | null {
  const { provider, host, token, fetch, deadlineMs = DEADLINE_MS } = at;
  const base = providerBase(provider, host);
  if (provider === 'enterprise_sso' || base === null) return null;
  return withOwnBranches(ADAPTERS[provider]({ base, token, fetch, deadlineMs }));
}

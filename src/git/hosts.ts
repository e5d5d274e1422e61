import type { ProviderName } from '../contract/providers.ts';
import type { GitFront } from '../sandbox/gateway/git-front.ts';
import type { Secret } from '../secrets/secret.ts';
import { gitCredential, providerBase } from './provider-address.ts';

/** A repository at its provider, for the gateway; null where the provider has none. */
export function gitFront(of: {
  provider: ProviderName;
  /** As stored; "" for the provider's own. */
  host: string;
  /** `owner/name`, more levels allowed. */
  repository: string;
  login: string | null;
  token: Secret | null;
}): GitFront | null {
  const base = providerBase(of.provider, of.host);
  if (base === null) return null;
  const repository = of.repository.replace(/\.git$/i, '');
  return {
    base,
    repository: of.provider === 'azure_devops' ? azurePath(base, repository) : repository,
    credential: of.token && gitCredential(of.provider, of.token, of.login),
  };
}

/** What `git clone` is given inside the sandbox, where the gateway adds the credential. */
export function cloneUrl(front: GitFront): string {
  // Azure takes the ending for a part of the name.
  const ending = /(^|\/)_git\//.test(front.repository) ? '' : '.git';
  return `${front.base}/${front.repository}${ending}`;
}

/**
 * `org/project/name` lies at `org/project/_git/name`, and the organisation may already stand in the stored host
 * (`dev.azure.com/org`).
 */
function azurePath(base: string, repository: string): string {
  const parts = repository.split('/');
  const organisation = new URL(base).pathname.split('/').at(-1) ?? '';
  if (parts.length > 2 && organisation !== '' && parts[0]?.toLowerCase() === organisation.toLowerCase())
    parts.shift();
  const name = parts.pop() ?? '';
  if (parts.at(-1) === '_git') parts.pop();
  return [...parts, '_git', name].join('/');
}

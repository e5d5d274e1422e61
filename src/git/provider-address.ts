import type { ProviderName } from '../contract/providers.ts';
import { Secret } from '../secrets/secret.ts';

/** The provider's own service; null where every installation has its own. */
const HOME: Readonly<Record<ProviderName, string | null>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
  azure_devops: 'https://dev.azure.com',
  forgejo: 'https://codeberg.org',
  enterprise_sso: null,
};

/**
 * Where a provider is: scheme, host, port and path, without a final slash, in one spelling.
 * @param host as it was stored: `ghe.example.com`, `http://git.local:3001/forge`, or "" for the provider's own
 * @returns null when the provider has no service of its own and no host is given
 */
export function providerBase(provider: ProviderName, host: string): string | null {
  if (host === '') return HOME[provider];
  const { origin, pathname } = new URL(/^https?:\/\//i.test(host) ? host : `https://${host}`);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

/** What a provider token is bound to: it is sent nowhere else. */
export function providerDestination(provider: ProviderName, host: string): string {
  return `${provider} ${providerBase(provider, host) ?? ''}`;
}

/**
 * How git sends a token: as the password of a user that the provider expects beside a token. One of Bitbucket may bring
 * its own, as `user:password`; the `email` of `email:API token` is for its API, git has a name that is everybody's.
 */
export function gitCredential(
  provider: ProviderName,
  token: Secret,
  login: string | null,
): { username: string; token: Secret } {
  switch (provider) {
    case 'github':
      return { username: 'x-access-token', token };
    case 'bitbucket': {
      const value = token.unwrap();
      const colon = value.indexOf(':');
      if (colon < 0) return { username: 'x-token-auth', token };
      const user = value.slice(0, colon);
      const username = user.includes('@') ? 'x-bitbucket-api-token-auth' : user;
      return { username, token: new Secret(value.slice(colon + 1)) };
    }
    case 'azure_devops':
    case 'forgejo':
      return { username: login ?? 'git', token };
    default:
      return { username: 'oauth2', token };
  }
}

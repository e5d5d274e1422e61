import type { ProviderName } from '../contract/providers.ts';

/** How a repository's name stands in the addresses of its pages, at the beginning of their path. */
const NAME: Readonly<Record<ProviderName, RegExp>> = {
  github: /^[^/]+\/[^/]+/,
  gitlab: /^[^/]+(?:\/(?!-\/)[^/]+)+/,
  bitbucket: /^[^/]+\/[^/]+/,
  azure_devops: /^(?:[^/]+\/)*_git\/[^/]+/,
  forgejo: /^[^/]+\/[^/]+/,
  enterprise_sso: /^[^/]+\/[^/]+/,
};

/**
 * What a repository is called at the provider at `base`, one of whose pages has this address, when it is an address.
 * @returns null for an address that lies elsewhere or names no repository; undefined for what is no address
 */
export function nameInAddress(text: string, provider: ProviderName, base: string): string | null | undefined {
  const given = /^https?:\/\//i.test(text.trim()) ? URL.parse(text.trim()) : null;
  if (!given) return undefined;
  const root = URL.parse(base);
  if (!root || given.host !== root.host) return null;
  const prefix = root.pathname.replace(/\/$/, '');
  if (!given.pathname.startsWith(`${prefix}/`)) return null;
  const [name] = NAME[provider].exec(decoded(given.pathname.slice(prefix.length + 1))) ?? [];
  return name?.replace(/\.git$/, '') ?? null;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

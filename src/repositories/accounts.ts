import { hash } from 'node:crypto';
import type { ProviderName } from '../contract/providers.ts';
import type { GitProvider } from '../git/git-provider.ts';
import { providerBase, providerDestination } from '../git/provider-address.ts';
import type { RunToken } from '../settings/run-settings.ts';
import { tokenRequired } from './failure.ts';

/** Opens the provider that a token is for; null where it is for git alone. */
export type OpenProvider = (token: RunToken) => GitProvider | null;

/** A stored token, by which its provider can be asked. */
export interface Account {
  provider: ProviderName;
  /** Where people see its repositories; "" when that is not known. */
  base: string;
  git: GitProvider | null;
}

/**
 * The accounts of a user, or that at one provider.
 * @throws ServiceError git_token_required when there is none
 */
export function accountsOf(
  tokens: readonly RunToken[],
  open: OpenProvider,
  selected: ProviderName | undefined,
): Account[] {
  const chosen = tokens.filter(({ provider }) => selected === undefined || provider === selected);
  if (chosen.length === 0) throw tokenRequired(selected ?? null);
  return chosen.map((token) => ({
    provider: token.provider,
    base: providerBase(token.provider, token.host) ?? '',
    git: open(token),
  }));
}

/** Stands for the tokens and where they go; another text when one of them is another. Tells nothing of them. */
export function fingerprintOf(tokens: readonly RunToken[]): string {
  const parts = tokens.map(({ provider, host, token }) => [
    providerDestination(provider, host),
    token.unwrap(),
  ]);
  return hash('sha256', JSON.stringify(parts));
}

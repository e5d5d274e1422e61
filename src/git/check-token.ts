import type { ProviderName } from '../contract/providers.ts';
import type { PlainFetch } from '../egress/plain-fetch.ts';
import type { Secret } from '../secrets/secret.ts';
import { gitProvider } from './git-providers.ts';
import { providerBase } from './provider-address.ts';

/** What a provider says of a token; `unverified` when it could not be asked, and why. */
export type TokenCheck =
  | { kind: 'verified'; login: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'unverified'; reason: string };

const DEADLINE_MS = 3_000;

/**
 * Asks a provider whose token this is, at its own host and nowhere else. At most three seconds. Never rejects, unless
 * `signal` is aborted.
 */
export async function checkToken(
  { provider, host, token }: { provider: ProviderName; host: string; token: Secret },
  fetch: PlainFetch,
  signal: AbortSignal,
): Promise<TokenCheck> {
  const asked = gitProvider({ provider, host, token, fetch, deadlineMs: DEADLINE_MS });
  if (!asked) return { kind: 'unverified', reason: `${provider} has no check` };
  const who = await asked.whoAmI(signal);
  switch (who.kind) {
    case 'ok':
      return { kind: 'verified', login: who.value.login };
    case 'refused':
    case 'expired':
      return { kind: 'refused', reason: who.message };
    case 'not_found':
    case 'unexpected': {
      const name = new URL(providerBase(provider, host) ?? '').host;
      return {
        kind: 'unverified',
        reason: `${name} did not answer as ${provider} does when it was asked whose token this is: see whether host is right`,
      };
    }
    default:
      return { kind: 'unverified', reason: who.message };
  }
}

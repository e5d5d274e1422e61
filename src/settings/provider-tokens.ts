import {
  PROVIDERS,
  type ProviderName,
  type ProviderToken,
  type ProviderTokens,
  type ProviderTokensBody,
  type TokenStatus,
} from '../contract/providers.ts';
import type { PlainFetch } from '../egress/plain-fetch.ts';
import { ServiceError } from '../errors.ts';
import { checkToken, type TokenCheck } from '../git/check-token.ts';
import { providerDestination } from '../git/provider-address.ts';
import type { SettingsDocument } from './document.ts';
import { mergeMcp } from './merge-mcp.ts';
import { type Checked, mergeTokens, partsOf } from './merge-secrets-store.ts';
import type { SecretDraft } from './secret-draft.ts';

/** What a provider said of a new token, and where it was asked. */
interface Answer {
  destination: string;
  check: Exclude<TokenCheck, { kind: 'refused' }>;
}
export type Answers = Partial<Record<ProviderName, Answer>>;

/**
 * Asks the provider of each new token whose it is, all at once.
 * @throws ServiceError provider_token_refused, naming every token that was refused
 */
export async function askProviders(
  stored: SettingsDocument['tokens'],
  given: ProviderTokens,
  fetch: PlainFetch,
  signal: AbortSignal,
): Promise<Answers> {
  const asked = await Promise.all(
    PROVIDERS.map(async (provider) => {
      const { token, host } = kept(given[provider]);
      if (!token) return null;
      const address = host ?? stored[provider]?.host ?? '';
      const check = await checkToken({ provider, host: address, token }, fetch, signal);
      return { provider, destination: providerDestination(provider, address), check };
    }),
  );
  const refused: { provider: ProviderName; reason: string }[] = [];
  const answers: Answers = {};
  for (const answer of asked) {
    if (answer === null) continue;
    const { provider, destination, check } = answer;
    if (check.kind === 'refused') refused.push({ provider, reason: check.reason });
    else answers[provider] = { destination, check };
  }
  if (refused.length === 0) return answers;
  const names = refused.map(({ provider }) => provider).join(', ');
  throw new ServiceError(
    'provider_token_refused',
    `Invalid token. Please make sure it is a valid ${names} token.`,
    {
      errors: refused.map(({ provider, reason }) => ({
        loc: ['body', 'provider_tokens', provider, 'token'],
        msg: `is not valid: ${reason}`,
        type: 'provider_token_refused',
      })),
    },
  );
}

/** The providers that such a refusal names; none of any other error. */
export function refusedProviders(error: unknown): string[] {
  if (!(error instanceof ServiceError) || error.code !== 'provider_token_refused') return [];
  return (error.errors ?? []).map(({ loc }) => String(loc[2]));
}

/** Merges a request whose new tokens were asked about. */
export function mergeProviderTokens(
  document: SettingsDocument,
  { provider_tokens, mcp_config }: ProviderTokensBody,
  answers: Answers,
  draft: SecretDraft,
): SettingsDocument {
  const given: ProviderTokens = {};
  const checked: Partial<Record<ProviderName, Checked>> = {};
  for (const provider of PROVIDERS) {
    const entry = provider_tokens?.[provider];
    if (entry === undefined || entry === null) continue;
    given[provider] = kept(entry);
    const answer = answers[provider];
    if (!answer) continue;
    const address = kept(entry).host ?? document.tokens[provider]?.host ?? '';
    if (providerDestination(provider, address) !== answer.destination) throw hostChanged(provider);
    const { check } = answer;
    checked[provider] = { status: check.kind, login: check.kind === 'verified' ? check.login : null };
  }
  const tokens = mergeTokens(document.tokens, given, draft, { loc: ['body', 'provider_tokens'], checked });
  return { ...document, tokens, mcp: mcp_config ? mergeMcp(document.mcp, mcp_config, draft) : document.mcp };
}

const NO_TOKEN = 'no token is stored for it: only what is public there can be read';

/** How the named providers stand. One without a stored token, as an empty form sends it, is left out. */
export function statusesOf(
  tokens: SettingsDocument['tokens'],
  given: ProviderTokens,
  answers: Answers,
): Partial<Record<ProviderName, TokenStatus>> {
  const statuses: Partial<Record<ProviderName, TokenStatus>> = {};
  for (const provider of PROVIDERS) {
    const entry = tokens[provider];
    if (!entry || given[provider] === undefined) continue;
    const check = answers[provider]?.check;
    if (entry.tokenless) {
      statuses[provider] = { status: 'unverified', reason: NO_TOKEN };
      continue;
    }
    statuses[provider] = {
      status: entry.status,
      ...(entry.login === null ? {} : { login: entry.login }),
      ...(check?.kind === 'unverified' ? { reason: check.reason } : {}),
    };
  }
  return statuses;
}

/** In this operation an empty token or host is none: V0's form sends both for every provider it shows. */
function kept(entry: ProviderToken | null | undefined): ReturnType<typeof partsOf> {
  if (!entry) return {};
  const { token, host, user_id } = partsOf(entry);
  return { token: token?.unwrap() === '' ? null : token, host: host === '' ? null : host, user_id };
}

function hostChanged(provider: ProviderName): ServiceError {
  return new ServiceError(
    'conflict',
    `The host of ${provider} was changed by another request while its token was checked: try again.`,
  );
}

import {
  PROVIDERS,
  type ProviderName,
  type ProviderToken,
  type ProviderTokens,
} from '../contract/providers.ts';
import type { CustomSecret } from '../contract/settings.ts';
import { type MemberError, ServiceError } from '../errors.ts';
import { providerDestination } from '../git/provider-address.ts';
import { Secret } from '../secrets/secret.ts';
import { SHELL_DESTINATION } from './destinations.ts';
import { SECRET_PATHS, type SettingsDocument, type TokenEntry } from './document.ts';
import type { GivenSecret, SecretDraft } from './secret-draft.ts';

type Tokens = SettingsDocument['tokens'];
type CustomSecrets = SettingsDocument['customSecrets'];

/** Whose a token is, where its provider was asked. */
export type Checked = Pick<TokenEntry, 'status' | 'login'>;

/** Merges provider tokens entry by entry. `checked` has what the providers said of new tokens. */
export function mergeTokens(
  stored: Tokens,
  given: ProviderTokens,
  draft: SecretDraft,
  options: { loc: MemberError['loc']; checked?: Partial<Record<ProviderName, Checked>> },
): Tokens {
  const next: Tokens = { ...stored };
  for (const provider of PROVIDERS) {
    const entry = given[provider];
    if (entry === undefined || entry === null) continue;
    const former = stored[provider];
    const { token, host, user_id } = partsOf(entry);
    const address = host ?? former?.host ?? '';
    const there = draft.merge(SECRET_PATHS.token(provider), token, providerDestination(provider, address), [
      ...options.loc,
      provider,
      'token',
    ]);
    // A host alone is kept, too: what is public there needs no token.
    if (!there && !host && (former?.tokenless !== true || address === '')) {
      delete next[provider];
      continue;
    }
    const isNew = token !== undefined && token !== null;
    const state = isNew ? (options.checked?.[provider] ?? UNCHECKED) : (former ?? UNCHECKED);
    next[provider] = {
      host: address,
      userId: user_id === '' ? null : (user_id ?? former?.userId ?? null),
      status: there ? state.status : 'unverified',
      login: there ? state.login : null,
      ...(!there && { tokenless: true as const }),
    };
  }
  return next;
}

const UNCHECKED: Checked = { status: 'unverified', login: null };

/** The two forms of an entry as one. */
export function partsOf(entry: ProviderToken): Exclude<ProviderToken, Secret> {
  return entry instanceof Secret ? { token: entry } : entry;
}

/** Merges custom secrets entry by entry. */
export function mergeCustomSecrets(
  stored: CustomSecrets,
  given: Readonly<Record<string, CustomSecret | null>>,
  draft: SecretDraft,
): CustomSecrets {
  if (Object.values(given).every((entry) => entry === null)) return stored;
  const next = new Map(stored.map(({ name, description }) => [name, description]));
  for (const [name, entry] of Object.entries(given)) {
    if (entry === null) continue;
    const { secret, description } = entry instanceof Secret ? { secret: entry } : entry;
    const there = draft.merge(SECRET_PATHS.custom(name), secret, SHELL_DESTINATION, [...LOC, name]);
    if (there) next.set(name, description ?? next.get(name) ?? '');
    else if (description && !isEmpty(secret)) throw describesNothing(name);
    else next.delete(name);
  }
  return [...next.keys()].sort().map((name) => ({ name, description: next.get(name) ?? '' }));
}

const LOC: MemberError['loc'] = ['body', 'secrets_store', 'custom_secrets'];

function isEmpty(secret: GivenSecret): boolean {
  return secret?.unwrap() === '';
}

function describesNothing(name: string): ServiceError {
  const loc = [...LOC, name, 'secret'];
  return new ServiceError('invalid_request', `There is no secret ${name} to describe: send its value too.`, {
    errors: [{ loc, msg: 'is required: no such secret is stored', type: 'missing' }],
  });
}

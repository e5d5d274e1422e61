import assert from 'node:assert/strict';
import type { ProviderName } from '../../../src/contract/providers.ts';
import { ServiceError } from '../../../src/errors.ts';
import type { AskableProvider, GitProvider, Repository } from '../../../src/git/git-provider.ts';
import { UserRepositories } from '../../../src/repositories/user-repositories.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import type { RunToken } from '../../../src/settings/run-settings.ts';
import { playedProvider, told } from './providers/played.ts';

export const ann = { userId: 'ann', userName: 'ann', keyId: 'k' };
export const never = new AbortController().signal;

export const tokenOf = (provider: ProviderName, token = 'tok', host = ''): RunToken => ({
  provider,
  host,
  login: null,
  token: new Secret(token),
});

/** The service of users whose providers play as told; `tokens` are those of all users, and may be exchanged. */
export function serviceOf(
  plays: Partial<Record<AskableProvider, Partial<GitProvider>>>,
  ...more: RunToken[]
) {
  const tokens = [...(Object.keys(plays) as AskableProvider[]).map((provider) => tokenOf(provider)), ...more];
  const stage = { clock: 0, suggestsTasks: true, tokens };
  const service = new UserRepositories({
    access: () => Promise.resolve(stage),
    open: ({ provider }) =>
      provider === 'enterprise_sso' ? null : playedProvider(provider, plays[provider]),
    now: () => stage.clock,
  });
  return Object.assign(stage, { service });
}

export const repository = (fullName: string, more: Partial<Repository> = {}): Repository => ({
  id: fullName,
  fullName,
  isPublic: true,
  defaultBranch: 'main',
  stars: null,
  pushedAt: null,
  ownerType: null,
  ...more,
});

export const user = (login: string) =>
  told({ id: '1', login, name: null, email: null, company: null, avatarUrl: null });

export async function errorOf(promise: Promise<unknown>): Promise<ServiceError> {
  const error = await promise.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '../secrets/secret.ts';
import { gitCredential, providerBase, providerDestination } from './provider-address.ts';

test("a provider without a host is the provider's own service", () => {
  assert.equal(providerBase('github', ''), 'https://github.com');
  assert.equal(providerBase('enterprise_sso', ''), null);
});

test('a host may be bare, or have scheme, port and path; one spelling comes out', () => {
  assert.equal(providerBase('github', 'GHE.example.com'), 'https://ghe.example.com');
  assert.equal(providerBase('forgejo', 'http://git.local:3001/forge/'), 'http://git.local:3001/forge');
  assert.equal(providerBase('gitlab', 'https://git.local:443'), 'https://git.local');
});

test("the provider's own host, named or not, is the same destination", () => {
  assert.equal(providerDestination('github', 'github.com'), providerDestination('github', ''));
  assert.notEqual(providerDestination('github', 'http://github.com'), providerDestination('github', ''));
  assert.notEqual(providerDestination('gitlab', 'git.local'), providerDestination('forgejo', 'git.local'));
});

test('a token goes to git as the password of the user its provider expects', () => {
  const shown = (...args: Parameters<typeof gitCredential>) => {
    const { username, token } = gitCredential(...args);
    return `${username}:${token.unwrap()}`;
  };
  const token = new Secret('token-value');
  assert.equal(shown('github', token, 'ann'), 'x-access-token:token-value');
  assert.equal(shown('gitlab', token, 'ann'), 'oauth2:token-value');
  assert.equal(shown('forgejo', token, 'ann'), 'ann:token-value');
  assert.equal(shown('bitbucket', token, null), 'x-token-auth:token-value');
  assert.equal(shown('bitbucket', new Secret('ann:app:password'), null), 'ann:app:password');
  const apiToken = new Secret('ann@example.com:api-token');
  assert.equal(shown('bitbucket', apiToken, null), 'x-bitbucket-api-token-auth:api-token');
});

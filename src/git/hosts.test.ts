import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProviderName } from '../contract/providers.ts';
import { Secret } from '../secrets/secret.ts';
import { cloneUrl, gitFront } from './hosts.ts';

function front(
  provider: ProviderName,
  repository: string,
  more: { host?: string; token?: string; login?: string } = {},
) {
  const { host = '', token = 'secret-token', login = null } = more;
  const made = gitFront({ provider, repository, host, login, token: token ? new Secret(token) : null });
  assert.ok(made);
  return made;
}

describe('the address of a repository', () => {
  const cases: [ProviderName, string | undefined, string, string][] = [
    ['github', undefined, 'acme/app', 'https://github.com/acme/app.git'],
    ['github', 'ghe.example.com', 'acme/app', 'https://ghe.example.com/acme/app.git'],
    ['github', 'HTTP://Git.local:3001/forge/', 'acme/app', 'http://git.local:3001/forge/acme/app.git'],
    ['gitlab', undefined, 'group/sub/app', 'https://gitlab.com/group/sub/app.git'],
    ['bitbucket', undefined, 'acme/app', 'https://bitbucket.org/acme/app.git'],
    ['forgejo', undefined, 'acme/app', 'https://codeberg.org/acme/app.git'],
    ['forgejo', '', 'acme/app.git', 'https://codeberg.org/acme/app.git'],
    ['azure_devops', undefined, 'org/project/app', 'https://dev.azure.com/org/project/_git/app'],
    ['azure_devops', 'dev.azure.com/Org', 'org/project/app', 'https://dev.azure.com/Org/project/_git/app'],
    ['azure_devops', 'dev.azure.com/org', 'project/app', 'https://dev.azure.com/org/project/_git/app'],
    ['azure_devops', 'dev.azure.com/org', 'project/_git/app', 'https://dev.azure.com/org/project/_git/app'],
    ['azure_devops', undefined, 'org/app', 'https://dev.azure.com/org/_git/app'],
  ];
  for (const [provider, host, repository, url] of cases) {
    it(`of ${provider} ${host ?? ''} ${repository} is ${url}`, () => {
      assert.equal(cloneUrl(front(provider, repository, host === undefined ? {} : { host })), url);
    });
  }

  it('is none where the provider has no repositories', () => {
    assert.equal(
      gitFront({ provider: 'enterprise_sso', host: '', repository: 'a/b', login: null, token: null }),
      null,
    );
  });
});

describe('the credential', () => {
  it('is made for its provider', () => {
    const { credential } = front('bitbucket', 'acme/app', { token: 'ann:app:pass' });
    assert.deepEqual([credential?.username, credential?.token.unwrap()], ['ann', 'app:pass']);
  });

  it('of enterprise_sso is for the host it was stored for', () => {
    const { base, credential } = front('enterprise_sso', 'acme/app', {
      host: 'https://sso.example:8443/git',
    });
    assert.equal(base, 'https://sso.example:8443/git');
    assert.deepEqual([credential?.username, credential?.token.unwrap()], ['oauth2', 'secret-token']);
  });

  it('is not there without a token', () => {
    assert.equal(front('github', 'acme/app', { token: '' }).credential, null);
  });
});

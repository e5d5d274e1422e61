import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProviderName } from '../contract/providers.ts';
import { nameInAddress } from './address.ts';

test('the address of a repository, or of a page of it, names it at its provider alone', () => {
  const cases: [string, ProviderName, string, string | null | undefined][] = [
    ['https://github.com/acme/app', 'github', 'https://github.com', 'acme/app'],
    [' https://github.com/acme/app.git ', 'github', 'https://github.com', 'acme/app'],
    ['https://GitHub.com/acme/app/', 'github', 'https://github.com', 'acme/app'],
    ['https://github.com/acme/app/tree/main/src?x#y', 'github', 'https://github.com', 'acme/app'],
    ['http://git.local:3001/forge/acme/app', 'forgejo', 'http://git.local:3001/forge', 'acme/app'],
    ['https://gitlab.com/a/b/c', 'gitlab', 'https://gitlab.com', 'a/b/c'],
    ['https://gitlab.com/a/b/c/-/tree/main', 'gitlab', 'https://gitlab.com', 'a/b/c'],
    ['https://bitbucket.org/acme/app/src/main/', 'bitbucket', 'https://bitbucket.org', 'acme/app'],
    ['https://dev.azure.com/o/p/_git/a?path=/x', 'azure_devops', 'https://dev.azure.com', 'o/p/_git/a'],
    ['https://dev.azure.com/o/p%20q/_git/a', 'azure_devops', 'https://dev.azure.com/o', 'p q/_git/a'],
    ['https://dev.azure.com/o/p', 'azure_devops', 'https://dev.azure.com', null],
    ['https://github.com/acme', 'github', 'https://github.com', null],
    ['https://github.com/', 'github', 'https://github.com', null],
    ['https://github.com/%zz/app', 'github', 'https://github.com', null],
    ['https://gitlab.com/acme/app', 'github', 'https://github.com', null],
    ['https://github.com.evil.example/acme/app', 'github', 'https://github.com', null],
    ['http://git.local:3001/forgery/acme/app', 'forgejo', 'http://git.local:3001/forge', null],
    ['https://github.com/acme/app', 'github', '', null],
    ['acme/app', 'github', 'https://github.com', undefined],
    ['http', 'github', 'https://github.com', undefined],
    ['https://', 'github', 'https://github.com', undefined],
  ];
  for (const [text, provider, base, name] of cases) {
    assert.equal(nameInAddress(text, provider, base), name, `${text} at ${base}`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameInAddress } from './address.ts';

test('the address of a repository names it at its provider alone', () => {
  const cases: [string, string, string | null | undefined][] = [
    ['https://github.com/acme/app', 'https://github.com', 'acme/app'],
    [' https://github.com/acme/app.git ', 'https://github.com', 'acme/app'],
    ['https://GitHub.com/acme/app/', 'https://github.com', 'acme/app'],
    ['http://git.local:3001/forge/acme/app', 'http://git.local:3001/forge', 'acme/app'],
    ['https://gitlab.com/a/b/c', 'https://gitlab.com', 'a/b/c'],
    ['https://github.com/acme', 'https://github.com', null],
    ['https://github.com/', 'https://github.com', null],
    ['https://github.com/%zz/app', 'https://github.com', null],
    ['https://gitlab.com/acme/app', 'https://github.com', null],
    ['https://github.com.evil.example/acme/app', 'https://github.com', null],
    ['http://git.local:3001/forgery/acme/app', 'http://git.local:3001/forge', null],
    ['https://github.com/acme/app', '', null],
    ['acme/app', 'https://github.com', undefined],
    ['http', 'https://github.com', undefined],
    ['https://', 'https://github.com', undefined],
  ];
  for (const [text, base, name] of cases) assert.equal(nameInAddress(text, base), name, `${text} at ${base}`);
});

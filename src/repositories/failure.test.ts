import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from './failure.ts';

test('what a provider’s failure says is a sentence, in which names of hosts are as they are', () => {
  const saying = (message: string) => failureOf('github', { kind: 'unavailable', message }, null).detail;
  assert.equal(saying('the token of GitHub has expired'), 'The token of GitHub has expired.');
  assert.equal(saying("api.github.com can't be reached"), "api.github.com can't be reached.");
  assert.equal(saying("git-host can't be reached."), "git-host can't be reached.");
  assert.equal(saying("forge:3000 can't be reached"), "forge:3000 can't be reached.");
});

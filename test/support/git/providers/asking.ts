import assert from 'node:assert/strict';
import type { Answer } from '../../../../src/git/answer.ts';
import type { AskableProvider, GitProvider } from '../../../../src/git/git-provider.ts';
import { gitProvider } from '../../../../src/git/git-providers.ts';
import { Secret } from '../../../../src/secrets/secret.ts';
import { type Asked, type Given, startProviderServer } from './server.ts';

/** What comes of one question where the provider answers as a test says; and what it was asked. */
export async function askingOf<T>(
  provider: AskableProvider,
  answer: (asked: Asked) => Given,
  ask: (of: GitProvider) => Promise<Answer<T>>,
): Promise<{ answer: Answer<T>; asked: Asked[] }> {
  const server = await startProviderServer(answer);
  try {
    const token = new Secret('the-token-of-ann');
    const of = gitProvider({ provider, host: `${server.url}/at`, token, fetch });
    assert.ok(of);
    return { answer: await ask(of), asked: server.asked };
  } finally {
    await server.close();
  }
}

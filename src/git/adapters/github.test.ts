import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProviderServer } from '../../../test/support/git-providers/server.ts';
import { Secret } from '../../secrets/secret.ts';
import { gitProvider } from '../git-providers.ts';

test('whose token it is', async () => {
  const server = await startProviderServer(({ headers }) =>
    headers.authorization === 'Bearer the-token'
      ? { body: { id: 1, login: 'ann' } }
      : { status: 401, body: { message: 'Bad credentials' } },
  );
  const ask = async (token: string | null) => {
    const provider = gitProvider({
      provider: 'github',
      host: server.url,
      token: token === null ? null : new Secret(token),
      fetch,
    });
    return provider?.whoAmI(AbortSignal.timeout(5_000));
  };
  try {
    const answer = await ask('the-token');
    assert.ok(answer?.kind === 'ok');
    assert.equal(answer.value.login, 'ann');
    assert.equal((await ask('another'))?.kind, 'refused');
    assert.equal((await ask(null))?.kind, 'no_token');
    assert.deepEqual(new Set(server.asked.map(({ path }) => path)), new Set(['/api/v3/user']));
  } finally {
    await server.close();
  }
});

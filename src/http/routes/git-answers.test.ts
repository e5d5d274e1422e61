import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { PROVIDERS } from '../../contract/providers.ts';
import type { Failure } from '../../repositories/failure.ts';
import { withFailures } from './git-answers.ts';

test('who could not be asked stands in a header that any client takes, whatever a provider says', async () => {
  const server = Fastify();
  const detail = `Störung: \u{1f600}\r\nx-evil: 1 ${'\u2028'.repeat(1_000)}`;
  const failures = PROVIDERS.map((provider): Failure => {
    return { provider, code: 'provider_unavailable', detail, until: null };
  });
  server.get('/some', (_request, reply) => withFailures(reply, { value: ['kept'], failures }));
  server.get('/none', (_request, reply) => withFailures(reply, { value: ['all'], failures: [] }));

  const some = await server.inject('/some');
  const header = String(some.headers['x-provider-failures']);
  assert.match(header, /^[\x20-\x7e]+$/);
  assert.ok(header.length < 16 * 1024);
  assert.equal(some.headers['x-evil'], undefined);
  const shown = JSON.parse(header) as { provider: string; detail: string }[];
  assert.deepEqual(
    shown.map(({ provider }) => provider),
    PROVIDERS,
  );
  assert.equal(shown[0]?.detail, detail.slice(0, 300));
  assert.deepEqual(some.json(), ['kept']);

  const none = await server.inject('/none');
  assert.equal(none.headers['x-provider-failures'], undefined);
  assert.deepEqual(none.json(), ['all']);
  await server.close();
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { type TestServer, startHttp } from '../../test/support/http.ts';
import { settingsBody } from '../contract/settings.ts';
import type { Routes } from './fastify-types.ts';

const probe: Routes = (server, _options, done) => {
  server.post(
    '/api/settings',
    { schema: { body: settingsBody, response: { 200: z.object({ message: z.string() }) } } },
    () => ({ message: 'stored' }),
  );
  server.get(
    '/api/things/:id',
    { config: { open: true }, schema: { params: z.object({ id: z.string() }), summary: 'A thing' } },
    () => ({}),
  );
  done();
};

interface Operation {
  operationId: string;
  security: unknown[];
  responses: Record<string, { content?: Record<string, unknown> }>;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: { 'application/json': { schema: { properties: Record<string, unknown> } } } };
}

interface Description {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Record<string, unknown> };
}

describe('the description of the API', () => {
  let http: TestServer;
  let description: Description;
  before(async () => {
    http = await startHttp(() => [probe]);
    description = (await http.request('GET', '/openapi.json', { key: null })).json as Description;
  });
  after(() => http.close());

  test('is OpenAPI 3.1, open, with the release and the ways to show a key', () => {
    assert.match(description.openapi, /^3\.1\./);
    assert.match(description.info.version, /^\d+\.\d+\.\d+/);
    assert.deepEqual(Object.keys(description.components.securitySchemes), ['key', 'bearer', 'cookie']);
  });

  test('has the routes with a schema, and of each what it takes and gives', () => {
    assert.deepEqual(Object.keys(description.paths), ['/metrics', '/api/settings', '/api/things/{id}']);
    const post = description.paths['/api/settings']?.['post'];
    assert.equal(post?.operationId, 'postSettings');
    assert.deepEqual(
      Object.keys(post.responses).sort(),
      '200 400 401 403 408 413 415 421 422 429 503 default'.split(' '),
    );
    assert.ok(post.responses['default']?.content?.['application/problem+json']);
    assert.equal(post.security.length, 3);
    const get = description.paths['/api/things/{id}']?.['get'];
    assert.deepEqual(get?.security, []);
    assert.deepEqual(Object.keys(get.responses).sort(), ['400', '421', 'default']);
    assert.deepEqual(
      get.parameters?.map(({ name, in: where }) => [name, where]),
      [['id', 'path']],
    );
  });

  test('names all members of the settings, the secrets among them as passwords that are only written', () => {
    const schema =
      description.paths['/api/settings']?.['post']?.requestBody?.content['application/json'].schema;
    assert.equal(Object.keys(schema?.properties ?? {}).length, 25);
    const secret = JSON.stringify(schema?.properties['llm_api_key']);
    assert.match(secret, /"format":"password"/);
    assert.match(secret, /"writeOnly":true/);
    assert.match(JSON.stringify(schema?.properties['enable_default_condenser']), /"default":true/);
  });

  test('is shown on a page that loads nothing from elsewhere', async () => {
    const moved = await fetch(`${http.url}/docs`, { redirect: 'manual' });
    assert.equal(moved.headers.get('location'), '/docs/');
    const page = await http.request('GET', '/docs/', { key: null });
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.ok(!/https?:|\*|script-src[^;]*unsafe/.test(policy), policy);
    const inline = /<script[^>]*>([^]+?)<\/script>/.exec(
      page.text.replace(/<script[^>]*src=[^>]*><\/script>/, ''),
    );
    const hash = createHash('sha256')
      .update(inline?.[1] ?? '')
      .digest('base64');
    assert.ok(policy.includes(`'sha256-${hash}'`), 'the page may run its own script');
    assert.match(page.text, /\/openapi\.json/);
    const script = await http.request('GET', '/docs/js/scalar.js', { key: null });
    assert.ok(script.status === 200 && script.text.length > 1_000_000);
  });

  test('every problem points to the table of errors', async () => {
    const { json } = await http.request('GET', '/nowhere');
    const page = await http.request('GET', (json as { type: string }).type, { key: null });
    assert.match(page.text, /`not_found`/);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../test/support/http.ts';
import type { Routes } from './fastify-types.ts';

const probe: Routes = (server, _options, done) => {
  server.get('/api/things/:id', (request) => request.params);
  done();
};

describe('/metrics', () => {
  let http: TestServer;
  before(async () => {
    http = await startHttp(() => [probe]);
  });
  after(() => http.close());

  test('counts answers by method, route pattern and status, never by path', async () => {
    await http.request('GET', '/api/things/7');
    await http.request('GET', '/api/things/8');
    await http.request('GET', '/api/things/8', { key: null });
    await http.request('GET', '/nowhere/hunter2');
    const { text, headers } = await http.request('GET', '/metrics', { key: null });
    assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    const count = (labels: string) =>
      new RegExp(`^parley_http_request_duration_seconds_count\\{${labels}\\} (\\d+)$`, 'm').exec(text)?.[1];
    assert.equal(count('method="GET",route="/api/things/:id",status="200"'), '2');
    assert.equal(count('method="GET",route="/api/things/:id",status="401"'), '1');
    assert.equal(count('method="GET",route="\\(none\\)",status="404"'), '1');
    assert.match(text, /_bucket\{le="\+Inf",method="GET",route="\/api\/things\/:id",status="200"\} 2$/m);
    assert.ok(!text.includes('hunter2'));
  });

  test('needs a key of whoever comes through a proxy, even one that says it is this machine', async () => {
    for (const headers of [
      { 'x-forwarded-for': '203.0.113.7' },
      { 'x-forwarded-for': '127.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
      { via: '1.1 proxy' },
      { 'x-real-ip': '127.0.0.1' },
    ]) {
      assert.equal((await http.request('GET', '/metrics', { key: null, headers })).status, 401);
      assert.equal((await http.request('GET', '/metrics', { headers })).status, 200);
    }
  });
});

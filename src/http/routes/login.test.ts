import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../../test/support/http.ts';
import { loginRoutes } from './login.ts';
import type { Routes } from '../fastify-types.ts';

const LISTED = 'https://page.example';

const probe: Routes = (server, _options, done) => {
  server.get('/api/me', (request) => ({ user: request.principal.userName }));
  server.post('/api/change', () => ({}));
  done();
};

describe('the log-in of a browser', () => {
  let http: TestServer;
  beforeEach(async () => {
    http = await startHttp((_storage, { auth }) => [loginRoutes(auth), probe], {
      corsOrigins: [LISTED],
    });
  });
  afterEach(() => http.close());

  const login = (key: string, headers: Record<string, string> = {}) =>
    http.request('POST', '/api/login', { key: null, body: { key }, headers });
  const cookieOf = async (headers: Record<string, string> = {}) => {
    const answer = await login(http.key, headers);
    assert.deepEqual([answer.status, answer.json], [200, { user: 'default' }]);
    return answer.headers.get('set-cookie') ?? '';
  };
  const withCookie = (method: string, path: string, cookie: string, headers: Record<string, string> = {}) =>
    http.request(method, path, {
      key: null,
      headers: { cookie: `other=1; ${cookie.split(';')[0]}`, ...headers },
    });

  test('is noted in the audit log, also when the key is wrong, and no key with it', async () => {
    await login('a-wrong-key');
    await cookieOf();
    const entries = await http.storage.read.audit.list({ limit: 10 });
    assert.deepEqual(
      entries.map(({ action, user, subject, detail }) => [action, user, subject, detail]),
      [
        ['login.failed', null, '127.0.0.1', { why: 'unknown' }],
        ['login.ok', 'default', '127.0.0.1', {}],
      ],
    );
    assert.ok(!JSON.stringify(entries).includes('a-wrong-key'));
  });

  test('gives a cookie that no script reads and no other site sends, and that lets in', async () => {
    const cookie = await cookieOf();
    assert.match(cookie, /; HttpOnly; SameSite=Strict$/);
    assert.match(cookie, /; Max-Age=2592000;/);
    assert.ok(!cookie.includes(http.key));
    assert.deepEqual((await withCookie('GET', '/api/me', cookie)).json, { user: 'default' });
  });

  test('over HTTPS gives a cookie that only goes over HTTPS', async () => {
    assert.match(await cookieOf({ 'x-forwarded-proto': 'https' }), /; Secure$/);
  });

  test('with a cookie, only our own pages change anything', async () => {
    const cookie = await cookieOf();
    const status = async (headers: Record<string, string>) =>
      (await withCookie('POST', '/api/change', cookie, headers)).status;
    assert.equal(await status({ origin: http.url }), 200);
    assert.equal(await status({}), 403);
    assert.equal(await status({ origin: 'https://evil.example' }), 403);
    assert.equal(await status({ origin: 'null' }), 403);
    assert.equal(await status({ origin: http.url.replace('http:', 'https:') }), 403);
  });

  test('with a cookie, pages of other origins read nothing, listed ones neither', async () => {
    const cookie = await cookieOf();
    const status = async (headers: Record<string, string>) =>
      (await withCookie('GET', '/api/me', cookie, headers)).status;
    assert.equal(await status({}), 200);
    assert.equal(await status({ origin: http.url }), 200);
    assert.equal(await status({ origin: LISTED }), 403);
    assert.equal(await status({ origin: 'null' }), 403);
    const withKey = await http.request('GET', '/api/me', { headers: { origin: LISTED } });
    assert.equal(withKey.status, 200);
  });

  test('another page cannot log a browser in or out', async () => {
    assert.equal((await login(http.key, { origin: 'https://evil.example' })).status, 403);
    const cookie = await cookieOf();
    assert.equal((await withCookie('POST', '/api/logout', cookie)).status, 403);
    assert.equal((await withCookie('GET', '/api/me', cookie)).status, 200);
  });

  test('ends by a log-out, and with its key', async () => {
    const first = await cookieOf();
    const out = await withCookie('POST', '/api/logout', first, { origin: http.url });
    assert.deepEqual([out.status, out.headers.get('set-cookie')?.includes('Max-Age=0')], [200, true]);
    assert.equal((await withCookie('GET', '/api/me', first)).status, 401);
    const second = await cookieOf();
    const [row] = await http.storage.read.keys.listKeys(http.userId);
    await http.storage.transact(({ keys }) => keys.revokeKey(row?.id ?? '', new Date().toISOString()));
    assert.equal((await withCookie('GET', '/api/me', second)).status, 401);
  });

  test('after some wrong keys an address has to wait, also with the right one', async () => {
    assert.equal((await login('wrong')).status, 401);
    assert.equal((await login(http.key)).status, 200);
    const wrong = await Promise.all(Array.from({ length: 15 }, () => login('wrong')));
    assert.ok(wrong.some(({ status }) => status === 429));
    const waits = await login(http.key);
    assert.deepEqual([waits.status, Number(waits.headers.get('retry-after')) > 0], [429, true]);
    assert.ok(!http.logged.some((line) => line.includes('wrong"')));
  });
});

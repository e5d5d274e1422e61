import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../test/support/http.ts';
import { parseHostList } from '../egress/host-list.ts';
import { loginRoutes } from './routes/login.ts';
import type { Place } from './own-hosts.ts';
import type { Routes } from './fastify-types.ts';

const probe: Routes = (server, _options, done) => {
  server.get('/open', { config: { open: true } }, ({ ip, protocol, host }) => ({ ip, protocol, host }));
  server.post('/api/change', () => ({}));
  done();
};

const LOCAL: Place = {
  publicUrl: null,
  trustedProxies: ['loopback'],
  allowedHosts: null,
  loopback: true,
};

function hosts(list: string) {
  const parsed = parseHostList(list);
  assert.ok(parsed.ok);
  return parsed.list;
}

describe('the names of the service', () => {
  let http: TestServer;
  afterEach(() => http.close());

  async function start(place: Partial<Place> = {}): Promise<void> {
    http = await startHttp((_storage, { auth }) => [loginRoutes(auth), probe], {
      place: { ...LOCAL, ...place },
    });
  }

  /** By `node:http`, as `fetch` lets nobody choose a `Host`. */
  async function send(path: string, headers: Record<string, string>, method = 'GET', body?: unknown) {
    const sent = request(http.url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) };
  }
  const statusFor = async (host: string, more: Record<string, string> = {}) =>
    (await send('/open', { host, ...more })).status;

  test('on loopback are addresses and localhost, and none that a name server gave', async () => {
    await start();
    for (const host of ['127.0.0.1:3000', 'localhost', 'LOCALHOST:80', 'a.localhost:3000', '[::1]:3000']) {
      assert.equal(await statusFor(host), 200, host);
    }
    for (const host of [
      'evil.example',
      'evil.example:3000',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
    ]) {
      assert.equal(await statusFor(host), 421, host);
    }
    for (const odd of ['evil.example/localhost', 'localhost@evil.example', 'a b', '%00', 'x#localhost']) {
      assert.equal(await statusFor(odd), 421, odd);
    }
  });

  test('a rebound page gets nowhere: not to the metrics, not with a key, not by a second header', async () => {
    await start();
    const host = 'evil.example:3000';
    for (const path of ['/metrics', '/openapi.json', '/docs/', '/open', '/nowhere']) {
      assert.equal((await send(path, { host })).status, 421, path);
    }
    const keyed = await send('/api/change', { host, 'x-session-api-key': http.key }, 'POST');
    assert.equal(keyed.status, 421);
    assert.equal((JSON.parse(keyed.text) as { code: string }).code, 'host_refused');
    assert.equal((await send('/api/login', { host }, 'POST', { key: http.key })).status, 421);
    for (const forwarded of ['localhost', '127.0.0.1:3000']) {
      assert.equal(await statusFor(host, { 'x-forwarded-host': forwarded }), 421);
      assert.equal(await statusFor('127.0.0.1', { 'x-forwarded-host': host }), 421);
    }
  });

  test('are also the one of the public URL, and those that are allowed', async () => {
    await start({ publicUrl: 'https://parley.example', allowedHosts: hosts('parley, inner.lan:3000') });
    for (const host of ['parley.example', 'parley.example:443', 'parley:80', 'inner.lan:3000', '10.0.0.5']) {
      assert.equal(await statusFor(host), 200, host);
    }
    for (const host of ['other.example', 'inner.lan:3001']) assert.equal(await statusFor(host), 421, host);
    assert.equal(await statusFor('127.0.0.1:3000', { 'x-forwarded-host': 'parley.example' }), 200);
  });

  test('are any where it listens for a network and nothing says otherwise, or where all are allowed', async () => {
    await start({ loopback: false });
    assert.equal(await statusFor('anything.lan'), 200);
    assert.equal((await send('/metrics', { host: 'anything.lan' })).status, 401, 'not without a key');
    await http.close();
    await start({ loopback: false, publicUrl: 'https://parley.example' });
    assert.equal(await statusFor('anything.lan'), 421);
    await http.close();
    await start({ allowedHosts: hosts('*') });
    assert.equal(await statusFor('anything.lan'), 200);
  });

  test('forwarded headers are believed from trusted proxies alone', async () => {
    const forwarded = {
      host: '127.0.0.1',
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'localhost',
    };
    await start();
    const believed = JSON.parse((await send('/open', forwarded)).text) as object;
    assert.deepEqual(believed, { ip: '203.0.113.7', protocol: 'https', host: 'localhost' });
    await http.close();
    await start({ trustedProxies: ['10.0.0.0/8'] });
    const spoofed = await send('/open', forwarded);
    assert.deepEqual(JSON.parse(spoofed.text), { ip: '127.0.0.1', protocol: 'http', host: '127.0.0.1' });
    assert.equal(spoofed.headers['strict-transport-security'], undefined);
    await http.close();
    await start({ trustedProxies: [] });
    assert.equal((JSON.parse((await send('/open', forwarded)).text) as { ip: string }).ip, '127.0.0.1');
  });

  test('of a chain of addresses the last one that is no trusted proxy counts: what stands before it was sent along', async () => {
    await start({ trustedProxies: ['loopback', '10.0.0.0/8'] });
    const headers = { host: 'localhost', 'x-forwarded-for': '127.0.0.1, 203.0.113.7, 10.1.2.3' };
    assert.equal((JSON.parse((await send('/open', headers)).text) as { ip: string }).ip, '203.0.113.7');
  });

  test("with a public URL a cookie's own origin is that one, and the cookie goes over HTTPS alone", async () => {
    await start({ publicUrl: 'https://parley.example' });
    const login = await send('/api/login', { host: 'parley.example' }, 'POST', { key: http.key });
    const [set = ''] = login.headers['set-cookie'] ?? [];
    assert.match(set, /; Secure$/);
    const cookie = set.split(';')[0] ?? '';
    const change = (origin: string, more: Record<string, string> = {}) =>
      send('/api/change', { host: '127.0.0.1', cookie, origin, ...more }, 'POST');
    assert.equal((await change('https://parley.example')).status, 200);
    for (const origin of ['http://parley.example', 'http://127.0.0.1', 'https://evil.example', 'null']) {
      assert.equal((await change(origin)).status, 403, origin);
    }
    const evil = { 'x-forwarded-host': 'localhost', 'x-forwarded-proto': 'http' };
    assert.equal((await change('http://localhost', evil)).status, 403);
  });
});

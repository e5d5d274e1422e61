import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type TestServer, startHttp } from '../../test/support/http.ts';
import { loginPage } from './routes/login-page.ts';
import { loginRoutes } from './routes/login.ts';
import type { Routes } from './fastify-types.ts';

const INDEX = '<!doctype html><script>start()</script><p>the client';
const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

const things: Routes = (server, _options, done) => {
  server.get('/api/things', () => ({ things: [] }));
  server.post('/api/things', () => ({ things: [] }));
  done();
};

describe('a browser client of a folder', () => {
  let base: string;
  let http: TestServer;

  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'parley-web-'));
    const web = join(base, 'web');
    await mkdir(join(web, 'assets'), { recursive: true });
    await mkdir(join(web, '.git'));
    await writeFile(join(base, 'secret.txt'), 'outside');
    await writeFile(join(web, 'index.html'), INDEX);
    await writeFile(join(web, 'robots.txt'), 'User-agent: *');
    await writeFile(join(web, 'assets/app-1.js'), 'start = () => {}');
    await writeFile(join(web, '.git/config'), 'hidden');
    await symlink('../secret.txt', join(web, 'link.txt'));
    await symlink('..', join(web, 'assets/up'));
    http = await startHttp((_, { auth }) => [loginRoutes(auth), loginPage, things], { webDir: web });
  });
  after(async () => {
    await http.close();
    await rm(base, { recursive: true });
  });

  const get = (path: string, headers: Record<string, string> = PAGE) =>
    http.request('GET', path, { key: null, headers });
  /** As it stands: fetch would take `..` out of the path. */
  const getRaw = async (path: string) => {
    const asked = httpRequest(http.url, { path, headers: PAGE }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return { headers: answer.headers, text: (await answer.toArray()).join('') };
  };

  it('is its index at / and wherever a browser goes', async () => {
    for (const path of [
      '/',
      '/?x=1',
      '/index.html',
      '/conversations/abc',
      '/settings/llm',
      '/apis',
      '/no.txt',
    ]) {
      const { status, text, headers } = await get(path);
      assert.deepEqual([status, text], [200, INDEX], path);
      assert.match(headers.get('content-type') ?? '', /^text\/html/);
      assert.equal(headers.get('cache-control'), 'no-store');
    }
    const head = await http.request('HEAD', '/', { key: null });
    assert.deepEqual([head.status, head.text], [200, '']);
  });

  it('is its files at their paths; assets are kept for long, nothing else is', async () => {
    const asset = await get('/assets/app-1.js', {});
    assert.deepEqual([asset.status, asset.text], [200, 'start = () => {}']);
    assert.match(asset.headers.get('content-type') ?? '', /javascript/);
    assert.equal(asset.headers.get('cache-control'), 'public, max-age=2592000, immutable');
    assert.equal(asset.headers.get('x-content-type-options'), 'nosniff');
    const file = await get('/robots.txt', {});
    assert.deepEqual([file.text, file.headers.get('cache-control')], ['User-agent: *', 'no-store']);
    for (const path of ['/assets/../robots.txt', '/assets/up/robots.txt']) {
      const { text, headers } = await getRaw(path);
      assert.deepEqual([text, headers['cache-control']], ['User-agent: *', 'no-store'], path);
    }
  });

  it('is never where the service is', async () => {
    assert.equal((await get('/api/things')).status, 401);
    assert.equal((await get('/api/nothing')).status, 401);
    assert.equal((await http.request('GET', '/api/nothing', { headers: PAGE })).status, 404);
    for (const path of ['/socket.io', '/docs/nothing', '/openapi.json/x', '/metrics/x']) {
      const { status, text } = await get(path);
      assert.deepEqual([status, text === INDEX], [404, false], path);
    }
    assert.equal((await http.request('POST', '/', { body: {} })).status, 404);
    assert.equal((await http.request('DELETE', '/api/things')).status, 405);
  });

  it('gives no page to who does not ask for one, or wants an asset that is not there', async () => {
    assert.equal((await get('/conversations/abc', { accept: 'application/json' })).status, 404);
    assert.equal((await get('/assets/app-0.js')).status, 404);
  });

  it('never leads out of its folder', async () => {
    for (const path of [
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/..%2fsecret.txt',
      '/%2e%2e/secret.txt',
      '/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
      '/..\\secret.txt',
      '/link.txt',
      '/assets/up/../secret.txt',
      '/assets/up/web/../../secret.txt',
      '/assets/up/robots.txt%00',
      '/.git/config',
      '/%00',
    ]) {
      const { text } = await getRaw(path);
      assert.ok(!text.includes('outside') && !text.includes('hidden'), path);
    }
    assert.equal((await get('/link.txt', {})).status, 404);
  });

  it('cannot be framed, and runs its own scripts alone', async () => {
    for (const path of ['/', '/index.html', '/conversations/abc']) {
      const { headers } = await get(path);
      assert.equal(headers.get('x-frame-options'), 'DENY');
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /script-src 'self' 'wasm-unsafe-eval' 'sha256-[^']+';/);
      assert.match(policy, /connect-src 'self'/);
    }
  });

  describe('with the page that logs in', () => {
    const origin = () => http.url;
    let cookie: string;

    it('takes a key, and gives a cookie that no script can read', async () => {
      const page = await get('/login');
      assert.equal(page.status, 200);
      const policy = page.headers.get('content-security-policy') ?? '';
      assert.match(policy, /script-src 'sha256-[^']+'; style-src 'sha256-/);
      assert.match(policy, /form-action 'none'; frame-ancestors 'none'/);
      assert.equal(page.headers.get('x-frame-options'), 'DENY');
      const login = await http.request('POST', '/api/login', {
        key: null,
        body: { key: http.key },
        headers: { origin: origin() },
      });
      assert.equal(login.status, 200);
      const set = login.headers.getSetCookie()[0] ?? '';
      assert.match(set, /; HttpOnly; SameSite=Strict/);
      cookie = set.split(';', 1)[0] ?? '';
    });

    it('needs no key after that, and lets no other page do anything (CSRF)', async () => {
      assert.equal((await get('/api/things', { cookie })).status, 200);
      const post = (headers: Record<string, string>) =>
        http.request('POST', '/api/things', { key: null, body: {}, headers: { cookie, ...headers } });
      assert.equal((await post({ origin: origin() })).status, 200);
      const { port } = new URL(http.url);
      for (const other of [
        'https://evil.example',
        `http://127.0.0.1:${Number(port) + 1}`,
        `http://localhost:${port}`,
        'null',
      ]) {
        const { status, json } = await post({ origin: other });
        assert.deepEqual([status, (json as { code: string }).code], [403, 'origin_refused'], other);
      }
      assert.equal((await post({})).status, 403, 'no origin');
    });

    it('answers to no name that was led here (DNS rebinding)', async () => {
      const asked = httpRequest(http.url, { path: '/', headers: { ...PAGE, host: 'rebound.example' } }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      assert.equal(answer.statusCode, 421);
    });
  });
});

describe('without a browser client', () => {
  it('shows the reference to who comes to / with a browser, and to nobody else', async () => {
    const http = await startHttp();
    try {
      const status = async (path: string, headers: Record<string, string>) => {
        const answer = await fetch(http.url + path, { headers, redirect: 'manual' });
        return [answer.status, answer.headers.get('location')];
      };
      assert.deepEqual(await status('/', PAGE), [302, '/docs/']);
      assert.deepEqual(await status('/', { accept: '*/*' }), [404, null]);
      assert.deepEqual(await status('/elsewhere', PAGE), [404, null]);
    } finally {
      await http.close();
    }
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Secret } from '../../secrets/secret.ts';
import { startGitServer } from '../../../test/support/git/git-server.ts';
import {
  BASIC,
  type Inside,
  inside as insideGateway,
  type InsideOptions,
  TOKEN,
} from '../../../test/support/git/inside-gateway.ts';

const run = promisify(execFile);

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

async function inside(options: InsideOptions = {}): Promise<Inside> {
  const made = await insideGateway(options);
  open.push(made);
  return made;
}

describe('git through the gateway', () => {
  it('clones, fetches and pushes with a token that is never seen inside', async () => {
    const { server, directory, git } = await inside();
    const app = join(directory, 'app');
    assert.deepEqual(await git(['clone', '-q', server.cloneUrl('acme/app'), 'app']), { code: 0, output: '' });
    assert.equal(await readFile(join(app, 'README.md'), 'utf8'), 'hello\n');

    await git(['checkout', '-q', '-b', 'work'], app);
    await writeFile(join(app, 'done.txt'), 'done\n');
    await git(['add', '-A'], app);
    await git(['commit', '-q', '-m', 'Do it'], app);
    const pushed = await git(['push', '-u', 'origin', 'work'], app);
    assert.equal(pushed.code, 0, pushed.output);
    assert.equal(await server.fileAt('acme/app', 'work', 'done.txt'), 'done\n');
    assert.equal((await server.commitOf('acme/app', 'work'))?.message, 'Do it');
    assert.equal((await git(['fetch', '--all'], app)).code, 0);

    assert.match(await readFile(join(app, '.git/config'), 'utf8'), new RegExp(server.cloneUrl('acme/app')));
    const seen = await run('grep', ['-rlE', `${TOKEN}|${BASIC}`, directory]).catch((error: unknown) => error);
    assert.equal((seen as { code: number }).code, 1, 'grep finds nothing');
    assert.match(await readFile(join(directory, 'trace'), 'utf8'), /http:\/\/git-host\.internal/);
  });

  it('reads a public repository of the same host without the token', async () => {
    const { server, directory, git } = await inside();
    const cloned = await git(['clone', '-q', server.cloneUrl('acme/lib'), 'lib']);
    assert.equal(cloned.code, 0, cloned.output);
    assert.equal(await readFile(join(directory, 'lib/lib.txt'), 'utf8'), 'open\n');
    assert.ok(server.requests.length > 0);
    assert.ok(server.requests.every(({ headers }) => headers.authorization === undefined));
  });

  it('reaches no other private repository, and none to push to', async () => {
    const { server, directory, git, refusals } = await inside();
    const sentence = 'gateway: this conversation may use acme/app only, not acme/';
    const other = await git(['clone', server.cloneUrl('acme/other'), 'other']);
    assert.notEqual(other.code, 0);
    assert.ok(other.output.includes(`${sentence}other`), other.output);
    assert.match(other.output, /403/);

    await git(['clone', '-q', server.cloneUrl('acme/lib'), 'lib']);
    const pushed = await git(['push', 'origin', 'HEAD:mine'], join(directory, 'lib'));
    assert.notEqual(pushed.code, 0);
    assert.ok(pushed.output.includes(`${sentence}lib`), pushed.output);
    assert.deepEqual(await server.branches('acme/lib'), ['main']);
    assert.ok(refusals.some((line) => line.includes('acme/lib')));
    assert.ok(server.requests.every(({ headers }) => headers.authorization === undefined));
  });

  it('keeps a token that a program inside brings along away from the host, and adds the stored one', async () => {
    const { server, git } = await inside();
    const header = 'http.extraHeader=Authorization: Basic aW5zaWRlOmluc2lkZQ==';
    const cookie = 'http.extraHeader=X-HTTP-Method-Override: DELETE';
    assert.equal((await git(['-c', header, '-c', cookie, 'ls-remote', server.cloneUrl('acme/app')])).code, 0);
    for (const { headers } of server.requests) {
      assert.equal(headers.authorization, `Basic ${BASIC}`);
      assert.equal(headers['x-http-method-override'], undefined);
    }
    const before = server.requests.length;
    assert.notEqual((await git(['-c', header, 'ls-remote', server.cloneUrl('acme/other')])).code, 0);
    for (const { headers } of server.requests.slice(before)) assert.equal(headers.authorization, undefined);
  });

  it('says what to do when the host does not accept the token', async () => {
    const stale = { username: 'x-access-token', token: new Secret('tok-stale-98765') };
    const refused = await inside({ front: { credential: stale } });
    const { code, output } = await refused.git(['clone', refused.server.cloneUrl('acme/app'), 'app']);
    assert.notEqual(code, 0);
    assert.match(output, /did not accept the stored token for acme\/app/);
    assert.doesNotMatch(output, /tok-stale|Username/);

    const none = await inside({ front: { credential: null } });
    const without = await none.git(['clone', none.server.cloneUrl('acme/app'), 'app']);
    assert.match(without.output, /wants a token for acme\/app, and none is stored/);
  });

  it('works below a path, by ssh spellings, and whatever the case of the name', async () => {
    const { server, git } = await inside({ prefix: '/forge', front: { repository: 'Acme/App' } });
    assert.notEqual(
      (await git(['ls-remote', server.cloneUrl('acme/app')])).code,
      0,
      'the host tells case apart',
    );
    const same = await inside({ prefix: '/forge' });
    for (const url of [
      same.server.cloneUrl('ACME/App'),
      'git@127.0.0.1:forge/acme/app.git',
      'ssh://git@127.0.0.1/forge/acme/app',
    ]) {
      const { code, output } = await same.git(['ls-remote', url]);
      assert.equal(code, 0, output);
      assert.match(output, /refs\/heads\/feature/);
    }
  });

  it('takes no credential along on a redirect, and stays in control of those within the host', async () => {
    const thief = await startGitServer({ repositories: { 'acme/app': { public: true } } });
    open.push(thief);
    let to = '';
    const { server, git } = await inside({
      intercept(incoming, response) {
        if (!incoming.url?.startsWith('/acme/app.git/') || to === '') return false;
        response.writeHead(301, { location: `${to}${incoming.url.replace('/acme/app.git', '')}` }).end();
        return true;
      },
    });
    to = `http://thief.test:${thief.port}/acme/app.git`;
    const away = await git(['ls-remote', server.cloneUrl('acme/app')]);
    assert.equal(away.code, 0, away.output);
    assert.ok(thief.requests.length > 0);
    assert.ok(thief.requests.every(({ headers }) => headers.authorization === undefined));

    to = `http://someone:${TOKEN}@127.0.0.1:${server.port}/acme/lib.git`;
    const within = await git(['ls-remote', server.cloneUrl('acme/app')]);
    assert.equal(within.code, 0, within.output);
    const redirected = server.requests.filter(({ url }) => url.startsWith('/acme/lib.git/'));
    assert.ok(
      redirected.length > 0 && redirected.every(({ headers }) => headers.authorization === undefined),
    );
    assert.ok(!within.output.includes(TOKEN));

    to = `http://127.0.0.1:${server.port}/acme/other.git`;
    assert.match(
      (await git(['ls-remote', server.cloneUrl('acme/app')])).output,
      /acme\/app only, not acme\/other/,
    );
  });

  it('lets nothing through that could show the token, whatever the host answers', async () => {
    const { server, directory, git } = await inside({
      intercept(incoming, response) {
        response.setHeader('set-cookie', `session=${TOKEN}`);
        response.setHeader('www-authenticate', `Basic realm="${TOKEN}"`);
        response.setHeader('x-echo', incoming.headers.authorization ?? '');
        response.setHeader('x-token', TOKEN);
        return false;
      },
    });
    assert.equal((await git(['clone', '-q', server.cloneUrl('acme/app'), 'app'])).code, 0);
    const trace = await readFile(join(directory, 'trace'), 'utf8');
    assert.match(trace, /content-type: application\/x-git-upload-pack-result/i);
    assert.doesNotMatch(trace, new RegExp(`set-cookie|www-authenticate|${TOKEN}|${BASIC}`, 'i'));
  });

  for (const lfsAuthorization of ['echo', 'none'] as const) {
    it(`pushes and pulls LFS files where the host gives ${lfsAuthorization} to authenticate with`, async () => {
      const { server, directory, git } = await inside({ lfsAuthorization });
      const [app, again] = [join(directory, 'app'), join(directory, 'again')];
      await git(['lfs', 'install', '--skip-repo']);
      await git(['clone', '-q', server.cloneUrl('acme/app'), 'app']);
      await git(['lfs', 'track', '*.bin'], app);
      const content = 'large '.repeat(50_000);
      await writeFile(join(app, 'a.bin'), content);
      await git(['add', '-A'], app);
      await git(['commit', '-q', '-m', 'Add a large file'], app);
      const pushed = await git(['push', 'origin', 'main'], app);
      assert.equal(pushed.code, 0, pushed.output);
      assert.equal(server.lfsObjects().length, 1);
      assert.match(await server.fileAt('acme/app', 'main', 'a.bin'), /^version https:\/\/git-lfs/);
      assert.ok(server.requests.some(({ url, status }) => url.endsWith('/verify') && status === 200));

      const cloned = await git(['clone', '-q', server.cloneUrl('acme/app'), 'again']);
      assert.equal(cloned.code, 0, cloned.output);
      assert.equal(await readFile(join(again, 'a.bin'), 'utf8'), content);
      const seen = await run('grep', ['-rlE', `${TOKEN}|${BASIC}`, directory]).catch(
        (error: unknown) => error,
      );
      assert.equal((seen as { code: number }).code, 1, 'grep finds nothing');
    });
  }

  it('passes a push on that git sends in chunks, as it does with a large one', async () => {
    const { server, directory, git } = await inside();
    const app = join(directory, 'app');
    await git(['clone', '-q', server.cloneUrl('acme/app'), 'app']);
    await writeFile(join(app, 'noise.bin'), randomBytes(8 * 1024 * 1024));
    await git(['add', '-A'], app);
    await git(['commit', '-q', '-m', 'Add noise'], app);
    const pushed = await git(['push', 'origin', 'main'], app);
    assert.equal(pushed.code, 0, pushed.output);
    assert.ok(server.requests.some(({ headers }) => headers['transfer-encoding'] === 'chunked'));
    assert.equal((await server.commitOf('acme/app', 'main'))?.message, 'Add noise');
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { NO_HOSTS } from '../../egress/host-list.ts';
import { sandboxPolicy, servicePolicy } from '../../egress/policy.ts';
import { Secret } from '../../secrets/secret.ts';
import { startGitServer, type GitServer, type GitServerOptions } from '../../../test/support/git-server.ts';
import { startGateway } from './gateway.ts';
import { gitFrontConfig, PROXY_INSIDE, type GitFront } from './git-front.ts';
import type { Push } from './push.ts';

const run = promisify(execFile);
const TOKEN = 'tok-0123456789-secret';
const BASIC = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

interface Inside {
  server: GitServer;
  directory: string;
  refusals: string[];
  pushes: Push[];
  git: (args: readonly string[], cwd?: string) => Promise<{ code: number; output: string }>;
}

/** A git server, a gateway to it, and a directory where git sees the network as it does in a sandbox. */
async function inside(
  options: Partial<GitServerOptions> = {},
  front: Partial<GitFront> = {},
): Promise<Inside> {
  const server = await startGitServer({
    repositories: {
      'acme/app': { files: { 'README.md': 'hello\n' }, branches: { feature: { 'new.txt': 'new\n' } } },
      'acme/other': {},
      'acme/lib': { files: { 'lib.txt': 'open\n' }, public: true },
    },
    accounts: [{ username: 'x-access-token', token: TOKEN }],
    ...options,
  });
  open.push(() => server.close());
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'));
  open.push(() => rm(directory, { recursive: true, force: true }));
  const socketPath = join(directory, 'gateway.sock');
  const gitFront: GitFront = {
    base: server.base,
    repository: 'acme/app',
    credential: { username: 'x-access-token', token: new Secret(TOKEN) },
    ...front,
  };
  const refusals: string[] = [];
  const pushes: Push[] = [];
  const gateway = await startGateway({
    socketPath,
    front: gitFront,
    policy: sandboxPolicy({ allowHosts: { all: false, names: (host) => host === 'thief.test' } }),
    resolve: async () => ['127.0.0.1'],
    frontPolicy: servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
    log: (line) => refusals.push(line),
    pushed: (push) => pushes.push(push),
  });
  open.push(() => gateway.close());

  const relay = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ path: socketPath, allowHalfOpen: true });
    pipeline(client, upstream).catch(() => {});
    pipeline(upstream, client).catch(() => {});
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  open.push(async () => relay.close());
  const address = relay.address();
  assert.ok(address !== null && typeof address === 'object');
  const config = join(directory, 'gitconfig');
  const identity = '[user]\n\tname = A\n\temail = a@example.org\n';
  const proxy = `http://127.0.0.1:${address.port}`;
  await writeFile(config, gitFrontConfig(gitFront).replace(PROXY_INSIDE, proxy) + identity);
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    GIT_CONFIG_SYSTEM: config,
    GIT_TERMINAL_PROMPT: '0',
    GIT_TRACE_CURL: join(directory, 'trace'),
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: 'localhost,127.0.0.1,::1',
    LC_ALL: 'C',
  };
  const git = async (args: readonly string[], cwd = directory) => {
    try {
      const { stdout, stderr } = await run('git', args, { cwd, env });
      return { code: 0, output: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, output: stdout + stderr };
    }
  };
  return { server, directory, refusals, pushes, git };
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

  it('tells what was pushed: each ref with its ids, and what the host answered', async () => {
    const { server, directory, git, pushes } = await inside({}, { conversation: 7 });
    const app = join(directory, 'app');
    await git(['clone', '-q', server.cloneUrl('acme/app'), 'app']);
    const before = (await server.commitOf('acme/app', 'main'))?.id;
    await git(['commit', '-q', '--allow-empty', '-m', 'One more'], app);
    await git(['push', '-q', 'origin', 'HEAD:main', 'HEAD:refs/heads/new', ':feature'], app);
    const after = (await server.commitOf('acme/app', 'main'))?.id;
    assert.deepEqual(
      pushes.map((push) => ({ ...push, refs: push.refs.toSorted((a, b) => (a.name < b.name ? -1 : 1)) })),
      [
        {
          conversation: 7,
          repository: 'acme/app',
          refs: [
            {
              name: 'refs/heads/feature',
              from: pushes[0]?.refs.find(({ to }) => to === null)?.from,
              to: null,
            },
            { name: 'refs/heads/main', from: before, to: after },
            { name: 'refs/heads/new', from: null, to: after },
          ],
          more: false,
          status: 200,
        },
      ],
    );
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
    const refused = await inside({}, { credential: stale });
    const { code, output } = await refused.git(['clone', refused.server.cloneUrl('acme/app'), 'app']);
    assert.notEqual(code, 0);
    assert.match(output, /did not accept the stored token for acme\/app/);
    assert.doesNotMatch(output, /tok-stale|Username/);

    const none = await inside({}, { credential: null });
    const without = await none.git(['clone', none.server.cloneUrl('acme/app'), 'app']);
    assert.match(without.output, /wants a token for acme\/app, and none is stored/);
  });

  it('works below a path, by ssh spellings, and whatever the case of the name', async () => {
    const { server, git } = await inside({ prefix: '/forge' }, { repository: 'Acme/App' });
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
    open.push(() => thief.close());
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

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
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
  const gateway = await startGateway({
    socketPath,
    front: gitFront,
    policy: sandboxPolicy({ allowHosts: NO_HOSTS }),
    frontPolicy: servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
    log: (line) => refusals.push(line),
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
  return { server, directory, refusals, git };
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
});

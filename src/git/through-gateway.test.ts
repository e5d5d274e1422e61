import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { inside, TOKEN } from '../../test/support/git/inside-gateway.ts';
import { startGitServer } from '../../test/support/git/git-server.ts';
import type { ProviderName } from '../contract/providers.ts';
import { Secret } from '../secrets/secret.ts';
import { cloneUrl, gitFront } from './hosts.ts';

before(() => {
  try {
    execFileSync('git', ['lfs', 'version'], { stdio: 'ignore' });
  } catch {
    assert.fail('git-lfs is missing: ./script/bootstrap installs it, or: apt-get install git-lfs');
  }
});

interface Case {
  provider: ProviderName;
  /** As a user names it, and the path at which it lies at the host. */
  repository: string;
  path?: string;
  login?: string;
  token?: string;
  prefix?: string;
  /** What the host is to see. */
  username: string;
  password?: string;
}

const CASES: Case[] = [
  { provider: 'github', repository: 'acme/app', username: 'x-access-token' },
  { provider: 'gitlab', repository: 'group/sub/app', username: 'oauth2', prefix: '/gitlab' },
  { provider: 'bitbucket', repository: 'acme/app', username: 'x-token-auth' },
  {
    provider: 'bitbucket',
    repository: 'acme/app',
    token: `ann:${TOKEN}`,
    username: 'ann',
    password: TOKEN,
  },
  { provider: 'forgejo', repository: 'acme/app', login: 'ann', username: 'ann', prefix: '/forge' },
  { provider: 'azure_devops', repository: 'org/project/app', path: 'org/project/_git/app', username: 'git' },
  { provider: 'enterprise_sso', repository: 'acme/app', username: 'oauth2' },
];

describe('git through the gateway, at the address and with the credential of its provider', () => {
  for (const one of CASES) {
    const { provider, repository, path = repository, login = null, token = TOKEN, username } = one;
    it(`${provider} as ${username}: clones, pushes with LFS, fetches`, async () => {
      await using server = await startGitServer({
        repositories: { [path]: { files: { 'README.md': 'hello\n' } } },
        accounts: [{ username, token: one.password ?? token }],
        ...(one.prefix && { prefix: one.prefix }),
      });
      const made = gitFront({ provider, host: server.base, repository, login, token: new Secret(token) });
      assert.ok(made);
      await using place = await inside({ server, front: made });
      const { git, directory } = place;
      const [app, again] = [join(directory, 'app'), join(directory, 'again')];
      await git(['lfs', 'install', '--skip-repo']);
      assert.deepEqual(await git(['clone', '-q', cloneUrl(made), 'app']), { code: 0, output: '' });
      assert.deepEqual(await git(['clone', '-q', cloneUrl(made), 'again']), { code: 0, output: '' });

      await git(['lfs', 'track', '*.bin'], app);
      await writeFile(join(app, 'a.bin'), `large ${username} `.repeat(1_000));
      await git(['add', '-A'], app);
      await git(['commit', '-q', '-m', 'Add a large file'], app);
      const pushed = await git(['push', 'origin', 'HEAD:main', 'HEAD:refs/heads/work'], app);
      assert.equal(pushed.code, 0, pushed.output);
      assert.match(await server.fileAt(path, 'main', 'a.bin'), /^version https:\/\/git-lfs/);

      const pulled = await git(['pull', '-q', 'origin', 'main'], again);
      assert.equal(pulled.code, 0, pulled.output);
      assert.match(await readFile(join(again, 'a.bin'), 'utf8'), /^large /);
      const basic = `Basic ${Buffer.from(`${username}:${one.password ?? token}`).toString('base64')}`;
      assert.ok(server.requests.every(({ headers }) => headers.authorization === basic));
    });
  }
});

describe('submodules', () => {
  const gitmodules = (base: string) =>
    `[submodule "open"]\n\tpath = open\n\turl = ../open.git\n[submodule "closed"]\n\tpath = closed\n\turl = ${base}/acme/closed.git\n`;

  /** A clone of a repository with a submodule by a relative address and one by a whole. */
  async function cloned(alsoReads: readonly string[]) {
    const place = await inside({
      repositories: {
        'acme/app': {},
        'acme/open': { files: { 'open.txt': 'open\n' }, public: true },
        'acme/closed': { files: { 'closed.txt': 'closed\n' } },
      },
      front: { alsoReads },
    });
    const { server, git, directory } = place;
    await git(['clone', '-q', server.cloneUrl('acme/app'), 'app']);
    const app = join(directory, 'app');
    await writeFile(join(app, '.gitmodules'), gitmodules(server.base));
    for (const name of ['open', 'closed']) {
      const head = (await server.commitOf(`acme/${name}`, 'main'))?.id;
      await git(['update-index', '--add', '--cacheinfo', `160000,${head},${name}`], app);
    }
    return {
      ...place,
      update: (name: string) => git(['submodule', 'update', '-q', '--init', name], app),
      app,
    };
  }

  it('that are public are read without the token, others not at all', async () => {
    const place = await cloned(['other/*']);
    await using _ = place;
    const { server, update, app } = place;
    const before = server.requests.length;
    assert.deepEqual(await update('open'), { code: 0, output: '' });
    assert.equal(await readFile(join(app, 'open/open.txt'), 'utf8'), 'open\n');
    const refused = await update('closed');
    assert.notEqual(refused.code, 0);
    assert.match(refused.output, /gateway: this conversation may use acme\/app only, not acme\/closed/);
    assert.ok(server.requests.slice(before).every(({ headers }) => headers.authorization === undefined));
  });

  for (const named of ['acme/closed', 'Acme/*']) {
    it(`are read with the token where ${named} is asked for, and never written`, async () => {
      const place = await cloned([named]);
      await using _ = place;
      const { server, update, app, git } = place;
      assert.deepEqual(await update('closed'), { code: 0, output: '' });
      assert.equal(await readFile(join(app, 'closed/closed.txt'), 'utf8'), 'closed\n');
      const pushed = await git(['push', 'origin', 'HEAD:refs/heads/mine'], join(app, 'closed'));
      assert.match(pushed.output, /may use acme\/app only, not acme\/closed/);
      assert.deepEqual(await server.branches('acme/closed'), ['main']);
    });
  }
});

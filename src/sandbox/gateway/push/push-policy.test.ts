import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Inside, inside, type InsideOptions } from '../../../../test/support/git/inside-gateway.ts';
import { packet } from './packet.ts';

const open: Inside[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

/** A conversation with a clone of a repository whose `main` and `feature` others have made. */
async function cloned(options: InsideOptions = {}) {
  const place = await inside({ ...options, front: { conversation: 7, ...options.front } });
  open.push(place);
  const { server, directory, git } = place;
  const app = join(directory, 'app');
  const made = await git(['clone', '-q', server.cloneUrl('acme/app'), 'app']);
  assert.deepEqual(made, { code: 0, output: '' });
  const commit = (message: string) => git(['commit', '-q', '--allow-empty', '-m', message], app);
  return {
    ...place,
    app,
    commit,
    push: (...args: string[]) => git(['push', 'origin', ...args], app),
    run: (...args: string[]) => git(args, app),
    head: async (branch: string) => (await server.commitOf('acme/app', branch))?.id,
  };
}

type Cloned = Awaited<ReturnType<typeof cloned>>;

async function isRefused({ push, head, pushes }: Cloned, branch: string, args: string[], reason: RegExp) {
  const before = await head(branch);
  const { code, output } = await push(...args);
  assert.notEqual(code, 0, output);
  assert.match(output, /remote: gateway: refs\/heads\/\S+: what this conversation did not make/);
  assert.match(output, /\[remote rejected\]/);
  assert.match(output, reason);
  assert.equal(await head(branch), before);
  assert.match(pushes.at(-1)?.refusal ?? '', /PARLEY_PUSH_POLICY/);
}

describe('a push that only adds', () => {
  it('passes: new commits, new branches and tags, and their outcomes are told', async () => {
    const all = await cloned();
    await all.commit('One');
    await all.commit('Two');
    const pushed = await all.push('HEAD:main', 'HEAD:refs/heads/new', 'HEAD:refs/tags/v1');
    assert.equal(pushed.code, 0, pushed.output);
    assert.deepEqual(
      all.pushes.map(({ conversation, repository, status, refusal, refs }) => [
        conversation,
        repository,
        status,
        refusal,
        ...refs.map(({ name, answer }) => `${name} ${answer}`).sort(),
      ]),
      [[7, 'acme/app', 200, null, 'refs/heads/main ok', 'refs/heads/new ok', 'refs/tags/v1 ok']],
    );
  });

  it('passes with a merge that brings the way back by its second parent', async () => {
    const all = await cloned();
    await all.run('checkout', '-q', '-b', 'mine', 'HEAD');
    await all.commit('Mine');
    await all.run('merge', '-q', '--no-edit', 'origin/feature');
    assert.equal((await all.push('HEAD:feature')).code, 0);
    assert.match((await all.server.commitOf('acme/app', 'feature'))?.message ?? '', /Merge/);
  });

  it('passes where the host has the commits between already, and is asked for them', async () => {
    const all = await cloned();
    for (const n of Array(3).keys()) await all.commit(`Step ${n}`);
    assert.equal((await all.push('HEAD:refs/heads/ahead')).code, 0);
    // An empty pack: the host knows all of it.
    assert.equal((await all.push('HEAD~2:main')).code, 0);
    // One new commit on top of what it knows.
    await all.commit('On top');
    const { code, output } = await all.push('HEAD:main');
    assert.equal(code, 0, output);
    assert.ok(
      all.server.requests.some(
        ({ method, headers }) => method === 'POST' && headers['user-agent'] === 'git/parley',
      ),
    );
  });

  it('passes beside files of every size', async () => {
    const all = await cloned();
    await writeFile(join(all.app, 'noise.bin'), randomBytes(3 * 1024 * 1024));
    await writeFile(join(all.app, 'zeros.bin'), Buffer.alloc(20 * 1024 * 1024));
    for (const n of Array(200).keys())
      await writeFile(join(all.app, `${n}.txt`), `${'line\n'.repeat(n)}${n}`);
    await all.run('add', '-A');
    await all.commit('Files');
    await all.commit('And one more');
    const { code, output } = await all.push('HEAD:main');
    assert.equal(code, 0, output);
    assert.equal((await all.server.commitOf('acme/app', 'main'))?.message, 'And one more');
  });

  it('passes from a shallow clone', async () => {
    const all = await cloned();
    const { server, git, directory } = all;
    await all.commit('More');
    assert.equal((await all.push('HEAD:main')).code, 0);
    await git(['clone', '-q', '--depth', '1', server.cloneUrl('acme/app'), 'shallow']);
    const shallow = join(directory, 'shallow');
    await git(['commit', '-q', '--allow-empty', '-m', 'On the shallow one'], shallow);
    const { code, output } = await git(['push', 'origin', 'HEAD:main'], shallow);
    assert.equal(code, 0, output);
  });
});

describe('what the conversation did not make', () => {
  it('is not rewritten', async () => {
    const all = await cloned();
    await all.run('commit', '-q', '--allow-empty', '--amend', '-m', 'Another beginning');
    await isRefused(
      all,
      'main',
      ['--force', 'HEAD:main'],
      /main \(not a fast-forward, and this conversation did/,
    );
    await isRefused(all, 'main', ['--force', 'HEAD:refs/heads/new', 'HEAD:main'], /pushed together with/);
    assert.deepEqual(await all.server.branches('acme/app'), ['feature', 'main']);
  });

  it('is not set back to an older commit, or to a side branch the host knows', async () => {
    const all = await cloned();
    await all.commit('More');
    assert.equal((await all.push('HEAD:main')).code, 0);
    await isRefused(all, 'main', ['--force', 'HEAD~1:main'], /not a fast-forward/);
    await isRefused(all, 'main', ['--force', 'origin/feature:main'], /not a fast-forward/);
  });

  it('is not deleted', async () => {
    const all = await cloned();
    await isRefused(all, 'feature', ['--delete', 'feature'], /feature \(this conversation did not make it/);
    await isRefused(all, 'feature', [':feature', 'HEAD:refs/heads/new'], /may not delete it/);
  });

  it('includes tags that were there', async () => {
    const all = await cloned();
    await all.commit('More');
    await all.push('HEAD:refs/tags/v1');
    all.made.clear();
    for (const args of [['--force', 'HEAD:refs/tags/v2', 'origin/feature:refs/tags/v1'], [':refs/tags/v1']]) {
      const { code, output } = await all.push(...args);
      assert.notEqual(code, 0, output);
      assert.match(output, /remote: gateway: refs\/tags\/v1/);
    }
  });

  it('is rewritten by no commit that only looks as if it had the old one for a parent', async () => {
    const all = await cloned();
    const main = await all.head('main');
    const tree = (await all.run('rev-parse', 'HEAD^{tree}')).output.trim();
    const forged = `tree ${tree}\nauthor A <a@example.org> 1700000000 +0000\ncommitter A <a@example.org> 1700000000 +0000\nparent ${main}\n\nparent ${main}\n`;
    const file = join(all.directory, 'forged');
    await writeFile(file, forged);
    const { output } = await all.run('hash-object', '-t', 'commit', '-w', '--literally', file);
    await isRefused(all, 'main', ['--force', `${output.trim()}:main`], /not a fast-forward/);
  });

  it('is rewritten where the operator allows it', async () => {
    const all = await cloned({ pushPolicy: 'allow' });
    await all.run('commit', '-q', '--allow-empty', '--amend', '-m', 'Another beginning');
    assert.equal((await all.push('--force', 'HEAD:main')).code, 0);
    assert.equal((await all.push('--delete', 'feature')).code, 0);
    assert.deepEqual(await all.server.branches('acme/app'), ['main']);
  });
});

describe('what the conversation made', () => {
  it('is its to rewrite and to delete', async () => {
    const all = await cloned();
    await all.commit('First try');
    assert.equal((await all.push('HEAD:refs/heads/mine')).code, 0);
    await all.run('commit', '-q', '--allow-empty', '--amend', '-m', 'Second try');
    assert.equal((await all.push('--force', 'HEAD:mine')).code, 0);
    assert.equal((await all.server.commitOf('acme/app', 'mine'))?.message, 'Second try');
    assert.equal((await all.push('--delete', 'mine')).code, 0);
  });

  it('is not what the host did not let it make', async () => {
    const all = await cloned();
    const body = (bytes: string) =>
      Buffer.concat([
        packet(`${'0'.repeat(40)} ${bytes} refs/heads/main\0 report-status\n`),
        Buffer.from('0000'),
      ]);
    const main = (await all.head('main')) ?? '';
    await writeFile(join(all.directory, 'body'), body(main));
    // To make what is there already.
    await all.run('-c', 'alias.post=!curl', 'post', ...postOf(all, 'body'));
    assert.deepEqual(
      all.pushes.at(-1)?.refs.map(({ answer }) => answer === 'ok'),
      [false],
    );
    assert.equal(all.made.size, 0);
  });
});

describe('a push of no form that git gives it', () => {
  it('goes nowhere, and a compressed one is read, too', async () => {
    const all = await cloned();
    const main = (await all.head('main')) ?? '';
    const removal = Buffer.concat([
      packet(`${main} ${'0'.repeat(40)} refs/heads/main\0 report-status\n`),
      Buffer.from('0000'),
    ]);
    await writeFile(join(all.directory, 'gzip'), gzipSync(removal));
    const compressed = await all.run(
      '-c',
      'alias.post=!curl',
      'post',
      '-H',
      'Content-Encoding: gzip',
      ...postOf(all, 'gzip'),
    );
    assert.match(compressed.output, /ng refs\/heads\/main this conversation did not make it/);

    await writeFile(join(all.directory, 'odd'), Buffer.concat([packet('push-cert\0'), removal]));
    const signed = await all.run('-c', 'alias.post=!curl', 'post', ...postOf(all, 'odd'));
    assert.match(signed.output, /gateway: the refs that it changes can not be read/);
    const coded = await all.run(
      '-c',
      'alias.post=!curl',
      'post',
      '-H',
      'Content-Encoding: br',
      ...postOf(all, 'odd'),
    );
    assert.match(coded.output, /gateway: a push may be compressed by gzip alone/);
    assert.equal(await all.head('main'), main);
    assert.ok(
      all.server.requests.every(({ url, method }) => method !== 'POST' || !url.endsWith('git-receive-pack')),
    );
  });
});

/** The arguments with which curl sends a file as a push. */
function postOf({ server, directory }: Cloned, file: string): string[] {
  const url = server.cloneUrl('acme/app').replace('127.0.0.1', 'git-host.internal');
  return ['-sS', '--data-binary', `@${join(directory, file)}`, `${url}/git-receive-pack`];
}

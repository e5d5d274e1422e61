import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

test('the packed package has plain JavaScript that runs as a dependency, and nothing of the tests', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-pack-'));
  t.after(() => rm(directory, { recursive: true }));
  // Packing builds into the checkout, which is not ours to write to.
  const checkout = join(directory, 'checkout');
  await mkdir(checkout);
  for (const name of ['src', 'script', 'docs', 'package.json', 'README.md', 'CHANGELOG.md', 'LICENSE']) {
    await cp(join(root, name), join(checkout, name), { recursive: true });
  }
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    npm_config_cache: join(directory, 'cache'),
  };
  await run('npm', ['pack', '--pack-destination', directory], { cwd: checkout, env });

  const [tarball, ...more] = (await readdir(directory)).filter((name) => name.endsWith('.tgz'));
  assert.ok(tarball !== undefined && more.length === 0);
  const installed = join(directory, 'app/node_modules/parley');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(directory, tarball), '--strip-components=1', '-C', installed]);
  await symlink(join(root, 'node_modules'), join(installed, 'node_modules'));

  const files = await readdir(join(installed, 'dist'), { recursive: true });
  assert.deepEqual(
    files.filter((name) => name.endsWith('.ts') || name.includes('.test.')),
    [],
  );
  const { bin } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  const main = join(installed, bin.parley);
  assert.equal((await stat(main)).mode & 0o111, 0o111);
  const { stdout, stderr } = await run(main, ['help'], { env });
  assert.match(stdout, /parley serve/);
  assert.equal(stderr, '');

  // npm installs it beside a Node that is too old, with a warning at most.
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`;
  await assert.rejects(
    run(process.execPath, ['--import', `data:text/javascript,${old}`, main, 'help'], { env }),
    {
      code: 1,
      stderr: /^parley: Parley needs Node 24 or newer, this is 20\.20\.2: .*\n$/,
    },
  );
});

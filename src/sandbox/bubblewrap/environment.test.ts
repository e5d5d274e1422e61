import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Secret } from '../../secrets/secret.ts';
import { environment } from './environment.ts';
import { CA_BUNDLE, gitConfig, makeSharedFiles } from './made-files.ts';

const none = { toolPaths: [], withCa: false, secrets: {} };

test('every kind of program is told the way out', () => {
  const variables = environment(none);
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']) {
    assert.equal(variables[name], 'http://127.0.0.1:3128');
  }
  assert.equal(variables['no_proxy'], variables['NO_PROXY']);
  assert.equal(variables['NODE_USE_ENV_PROXY'], '1');
  assert.match(variables['JAVA_TOOL_OPTIONS'] ?? '', /-Dhttps\.proxyPort=3128/);
});

test('nothing of the service’s own environment is in it', () => {
  process.env['PARLEY_TEST_ONLY'] = 'the host’s';
  assert.ok(!Object.values(environment(none)).includes('the host’s'));
  delete process.env['PARLEY_TEST_ONLY'];
});

test('certificates are named only where the service has some', () => {
  assert.equal(environment(none)['SSL_CERT_FILE'], undefined);
  const variables = environment({ ...none, withCa: true });
  for (const name of ['PIP_CERT', 'REQUESTS_CA_BUNDLE', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS']) {
    assert.equal(variables[name], CA_BUNDLE);
  }
});

test('toolchains come first in PATH, secrets as they are', () => {
  const secrets = { MY_KEY: new Secret('a=b "c"\nd') };
  const variables = environment({ ...none, toolPaths: ['/opt/tool/bin'], secrets });
  assert.match(variables['PATH'] ?? '', /^\/opt\/tool\/bin:/);
  assert.equal(variables['MY_KEY'], 'a=b "c"\nd');
});

test('a secret with a NUL character is refused by name: it would become options of bwrap', () => {
  const secrets = { BAD: new Secret('x\0--bind\0/\0/host') };
  assert.throws(() => environment({ ...none, secrets }), /The secret BAD holds a NUL character/);
});

test('the certificates inside are the system’s and the service’s', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-ca-'));
  const own = join(directory, 'own.pem');
  await writeFile(own, '-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n');
  const mounts = await makeSharedFiles(join(directory, 'etc'), own);
  const [from = ''] = mounts.find(([, to]) => to === CA_BUNDLE) ?? [];
  assert.match(await readFile(from, 'utf8'), /ours/);
  await rm(directory, { recursive: true });
});

test('git reads the identity as it was given, whatever is in it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-git-'));
  const file = join(directory, 'config');
  const name = 'Ann "the; #1" \\ O’Neil  [core]\n\tsshCommand = evil';
  await writeFile(file, gitConfig({ name, email: 'a@b.c' }, '[http]\n\tproxy = http://127.0.0.1:3128\n'));
  const read = (...args: string[]): string =>
    execFileSync('git', ['config', '--file', file, ...args], { encoding: 'utf8' });
  assert.equal(read('user.name').trimEnd(), name.replace('\n', ' '));
  assert.equal(read('http.proxy'), 'http://127.0.0.1:3128\n');
  assert.equal(read('safe.directory'), '*\n');
  assert.ok(!read('--list').includes('core.sshcommand'));
  await rm(directory, { recursive: true });
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { VARIABLES, readConfig } from './config.ts';

const directory = mkdtempSync(join(tmpdir(), 'parley-config-'));
after(() => rmSync(directory, { recursive: true }));

const file = (text: string) => {
  const path = join(directory, String(Math.random()));
  writeFileSync(path, text);
  return path;
};

/** Null for a user that the system has no entry of. */
function homeOfUser(): string | null {
  try {
    return userInfo().homedir;
  } catch {
    return null;
  }
}

const KEY = Buffer.alloc(32, 7).toString('base64');

describe('the configuration', () => {
  test('has a default for everything', () => {
    const config = readConfig({});
    assert.deepEqual(
      [config.host, config.port, config.dataDir],
      ['127.0.0.1', 3000, join(homedir(), '.local/share/parley')],
    );
    assert.deepEqual([config.sessionApiKey, config.secretKey, config.caFile], [null, null, null]);
    assert.deepEqual(config.sandbox.limits, {
      memoryBytes: 4 * 2 ** 30,
      processes: 512,
      cpus: 2,
      diskBytes: 10 * 2 ** 30,
    });
    assert.deepEqual(config.maxRunning, { perUser: 10, inAll: 100 });
    assert.ok(
      Object.isFrozen(config) && Object.isFrozen(config.sandbox) && Object.isFrozen(config.sandbox.limits),
    );
  });

  test('reads every variable', () => {
    const config = readConfig({
      HOST: '0.0.0.0',
      PORT: '0',
      PARLEY_DATA_DIR: '/srv/parley',
      SESSION_API_KEY: 'a-key-of-sixteen',
      PARLEY_SECRET_KEY: KEY,
      PARLEY_SANDBOX: 'none',
      PARLEY_SANDBOX_UID_BASE: '70000',
      PARLEY_SANDBOX_MEMORY: '512M',
      PARLEY_SANDBOX_PROCESSES: '64',
      PARLEY_SANDBOX_CPUS: '0.5',
      PARLEY_SANDBOX_DISK: '1073741824',
      PARLEY_SANDBOX_READ_ONLY_PATHS: '/opt/tools, /srv/cache',
      PARLEY_SANDBOX_ALLOW_HOSTS: 'registry.lan:8080',
      PARLEY_ALLOW_PRIVATE_HOSTS: '*',
      PARLEY_RATE_LIMIT: '0',
      PARLEY_MAX_RUNNING: '2,3',
      PARLEY_IDLE_STOP_SECONDS: '60',
      PERMITTED_CORS_ORIGINS: 'https://a.example,http://localhost:3001',
      PARLEY_LOG_LEVEL: 'debug',
      NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
      SSL_CERT_FILE: '/etc/other.pem',
    });
    assert.deepEqual([config.host, config.port, config.dataDir], ['0.0.0.0', 0, '/srv/parley']);
    assert.equal(config.sessionApiKey?.unwrap(), 'a-key-of-sixteen');
    assert.equal(config.secretKey?.unwrap(), KEY);
    assert.deepEqual([config.sandbox.kind, config.sandbox.uidBase], ['none', 70_000]);
    assert.deepEqual(config.sandbox.limits, {
      memoryBytes: 2 ** 29,
      processes: 64,
      cpus: 0.5,
      diskBytes: 2 ** 30,
    });
    assert.deepEqual(config.sandbox.readOnlyPaths, ['/opt/tools', '/srv/cache']);
    assert.ok(config.sandbox.allowHosts.names('registry.lan', 8080));
    assert.ok(config.allowPrivateHosts.all);
    assert.deepEqual(
      [config.rateLimit, config.maxRunning, config.idleStopSeconds],
      [0, { perUser: 2, inAll: 3 }, 60],
    );
    assert.deepEqual(config.corsOrigins, ['https://a.example', 'http://localhost:3001']);
    assert.deepEqual([config.logLevel, config.caFile], ['debug', '/etc/ca.pem']);
  });

  test('is never printed with its secrets', () => {
    const config = readConfig({ SESSION_API_KEY: 'a-key-of-sixteen', PARLEY_SECRET_KEY: KEY });
    const printed = JSON.stringify(config);
    assert.ok(!printed.includes('a-key-of-sixteen') && !printed.includes(KEY));
  });

  test('takes each variable from a file, but not from both', () => {
    const config = readConfig({
      PORT_FILE: file('8080\n'),
      SESSION_API_KEY_FILE: file('a-key-of-sixteen\n'),
    });
    assert.deepEqual([config.port, config.sessionApiKey?.unwrap()], [8080, 'a-key-of-sixteen']);
    assert.throws(() => readConfig({ PORT: '1', PORT_FILE: file('2') }), /PORT and PORT_FILE are both given/);
    assert.throws(() => readConfig({ PORT_FILE: join(directory, 'missing') }), /PORT_FILE .*ENOENT/);
  });

  test('says of a file that it is empty, has no end or holds what is wrong', () => {
    const refused = () => readConfig({ PORT_FILE: file('\n'), PARLEY_WEB_DIR_FILE: '/dev/zero' });
    assert.throws(refused, /PORT_FILE names an empty file\n {2}PARLEY_WEB_DIR_FILE names .* too long/);
    assert.throws(() => readConfig({ PORT_FILE: file('70000') }), /PORT_FILE must be an integer/);
  });

  test('lets arguments win, and takes an empty variable for one that is not set', () => {
    assert.equal(readConfig({ PORT: '1' }, { port: '2' }).port, 2);
    assert.equal(readConfig({ PORT: '' }).port, 3000);
  });

  test('refuses all that is wrong at once, each by its name, without repeating a secret', () => {
    const refused = (): unknown =>
      readConfig({
        PORT: '70000',
        PARLEY_SANDBOX: 'docker',
        PARLEY_SANDBOX_MEMORY: 'much',
        PARLEY_MAX_RUNNING: '10,5',
        PARLEY_SECRET_KEY: 'hunter2',
        SESSION_API_KEY: 'with space',
        PARLEY_ALLOW_PRIVATE_HOSTS: 'not a host',
        PERMITTED_CORS_ORIGINS: 'https://a.example/path',
        PARLEY_PORT: '1',
      });
    assert.throws(refused, (error: Error) => {
      for (const name of [
        'PORT',
        'PARLEY_SANDBOX',
        'PARLEY_SANDBOX_MEMORY',
        'PARLEY_MAX_RUNNING',
        'PARLEY_SECRET_KEY',
        'SESSION_API_KEY',
        'PARLEY_ALLOW_PRIVATE_HOSTS',
        'PERMITTED_CORS_ORIGINS',
        'PARLEY_PORT',
      ]) {
        assert.match(error.message, new RegExp(`^  ${name} `, 'm'));
      }
      return error.name === 'StartError' && !/hunter2|with space/.test(error.message);
    });
  });

  test('takes a HOME that is empty for one that is not set', () => {
    const before = process.env['HOME'];
    process.env['HOME'] = '';
    try {
      assert.equal(readConfig({ PARLEY_DATA_DIR: '/data' }).dataDir, '/data');
      const home = homeOfUser();
      if (home === null) assert.throws(() => readConfig({}), /no home directory: set PARLEY_DATA_DIR/);
      else assert.equal(readConfig({}).dataDir, join(home, '.local/share/parley'));
    } finally {
      if (before === undefined) delete process.env['HOME'];
      else process.env['HOME'] = before;
    }
  });

  test('takes a short session key on loopback, and nowhere else', () => {
    assert.equal(readConfig({ SESSION_API_KEY: 'short' }).sessionApiKey?.unwrap(), 'short');
    assert.equal(readConfig({ SESSION_API_KEY: 'short', HOST: '::1' }).host, '::1');
    assert.throws(() => readConfig({ SESSION_API_KEY: 'short', HOST: '0.0.0.0' }), /at least 16 characters/);
    assert.throws(
      () => readConfig({ SESSION_API_KEY: 'short', HOST: '0.0.0.0', PORT: 'x' }),
      /PORT must[^]*at least 16 characters/,
    );
  });

  test('is documented, each variable with its default, and nothing else', () => {
    const page = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (?:`([^`]*)`|–) \|/gm)].map(([, name, value]) => [
      name,
      value ?? '',
    ]);
    const known = Object.entries(VARIABLES.shape).map(([name, schema]) => [
      name,
      schema.meta()?.['fallback'],
    ]);
    assert.deepEqual(rows, known);
  });
});

test('what stands before the service is an origin, addresses and names', () => {
  const { publicUrl, trustedProxies, allowedHosts } = readConfig({
    PARLEY_PUBLIC_URL: 'https://parley.example',
    PARLEY_TRUSTED_PROXIES: '10.0.0.0/8, fd00::1,loopback',
    PARLEY_ALLOWED_HOSTS: 'parley.lan',
  });
  assert.deepEqual(
    [publicUrl, trustedProxies],
    ['https://parley.example', ['10.0.0.0/8', 'fd00::1', 'loopback']],
  );
  assert.ok(allowedHosts?.names('parley.lan', 80));
  assert.deepEqual(readConfig({ PARLEY_TRUSTED_PROXIES: 'none' }).trustedProxies, []);
  assert.equal(readConfig({}).allowedHosts, null);
  for (const wrong of ['parley.example', 'ftp://parley.example', 'https://parley.example/path']) {
    assert.throws(() => readConfig({ PARLEY_PUBLIC_URL: wrong }), /PARLEY_PUBLIC_URL/);
  }
  for (const wrong of ['proxy.lan', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0/8']) {
    assert.throws(() => readConfig({ PARLEY_TRUSTED_PROXIES: wrong }), /PARLEY_TRUSTED_PROXIES/);
  }
});

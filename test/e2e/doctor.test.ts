import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import type { Check } from '../../src/doctor/check.ts';
import { type Parley, startParley, TEST_KEY } from '../support/parley.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** The command in a process of its own; it may find something to mend. */
async function doctor(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'doctor', ...args], {
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = await once(child, 'close');
  return { code: Number(code), out, said };
}

async function checksOf(env: Record<string, string>): Promise<{ code: number; checks: Check[] }> {
  const { code, out, said } = await doctor(env, '--json');
  assert.equal(said, '');
  return { code, checks: JSON.parse(out) as Check[] };
}

const statusOf = (checks: readonly Check[], name: string): string[] =>
  checks.filter((check) => check.name === name).map(({ status }) => status);

/** Everything in a directory, but for the memory that SQLite's readers and writers share. */
async function snapshot(directory: string): Promise<string[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => !name.endsWith('-shm'));
  return await Promise.all(
    names.toSorted().map(async (name) => {
      const { mtimeMs, size, mode, uid } = await stat(join(directory, name));
      return `${name} ${mtimeMs} ${size} ${mode} ${uid}`;
    }),
  );
}

describe('parley doctor', () => {
  let parley: Parley;
  let place: string;
  before(async () => {
    parley = await startParley();
    place = await mkdtemp(join(tmpdir(), 'parley-doctor-'));
  });
  after(async () => {
    await parley.close();
    await rm(place, { recursive: true, force: true });
  });

  it('beside a running server: all is well, the sandbox with its checks and limits, and nothing is changed', async () => {
    await parley.ok('POST', '/api/settings', { llm_model: 'openai/x', llm_api_key: 'sk-a-model-key' });
    // The server's own test of the sandbox makes a workspace and removes it.
    await parley.ok('GET', '/ready');
    const before = await snapshot(parley.dataDir);
    const env = {
      PARLEY_DATA_DIR: parley.dataDir,
      PORT: new URL(parley.url).port,
      SESSION_API_KEY: TEST_KEY,
    };
    const { code, checks } = await checksOf(env);
    const failed = checks.filter(({ status }) => status === 'fail');
    assert.deepEqual([code, failed], [0, []]);
    assert.match(checks.find(({ name }) => name === 'server')?.detail ?? '', /one answers at/);
    assert.match(checks.find(({ name }) => name === 'secret key')?.detail ?? '', /opens what is stored/);
    assert.match(checks.find(({ name }) => name === 'sandbox limits')?.detail ?? '', /memory by/);
    for (const name of [
      'node',
      'database',
      'sandbox: kernel settings',
      'bwrap',
      'socat',
      'git',
      'git-lfs',
      'clock',
    ]) {
      assert.deepEqual(statusOf(checks, name), ['ok'], name);
    }
    assert.deepEqual(await snapshot(parley.dataDir), before);
    assert.ok(!JSON.stringify(checks).includes(TEST_KEY));
    await parley.ok('GET', '/api/settings');
  });

  it('before the first start: nothing is made', async () => {
    const dataDir = join(place, 'none');
    const { code, out } = await doctor({ PARLEY_DATA_DIR: dataDir, PARLEY_SANDBOX: 'none', PORT: '0' });
    assert.equal(code, 0, out);
    assert.match(out, /^warn {2}data directory .*is not there/m);
    assert.match(out, /\d+ ok, \d+ to know of, 0 to mend\n$/);
    assert.deepEqual(await readdir(place), []);
  });

  it('names each thing that is wrong, and what to do', async () => {
    const dataDir = join(place, 'wrong');
    const env = { PARLEY_DATA_DIR: dataDir, PARLEY_SANDBOX: 'none', PORT: '0' };
    const broken = await startParley({ PARLEY_DATA_DIR: dataDir, PARLEY_SANDBOX: 'none' });
    await broken.close();

    const key = join(dataDir, 'secret-key');
    await chmod(key, 0o644);
    await writeFile(join(dataDir, 'secret-key.old'), await readFile(key));
    let { code, checks } = await checksOf(env);
    assert.deepEqual([code, statusOf(checks, 'secret key')], [1, ['warn', 'fail', 'ok']]);
    assert.match(JSON.stringify(checks), /chmod 600/);

    await rm(join(dataDir, 'secret-key.old'));
    await writeFile(key, `${Buffer.alloc(32, 1).toString('base64')}\n`);
    await chmod(key, 0o600);
    ({ checks } = await checksOf(env));
    assert.deepEqual(statusOf(checks, 'secret key'), ['fail']);

    const path = join(dataDir, 'parley.db');
    const database = new DatabaseSync(path);
    database.exec("insert into kysely_migration values ('9999-later', '2030-01-01')");
    database.close();
    ({ checks } = await checksOf(env));
    assert.deepEqual(statusOf(checks, 'database'), ['fail']);
    assert.match(JSON.stringify(checks), /a later release wrote it/);

    await writeFile(path, 'this is no database, and long enough to be looked at'.repeat(100));
    ({ code, checks } = await checksOf(env));
    assert.deepEqual([code, statusOf(checks, 'database')], [1, ['fail']]);
  });

  it('says all problems of the configuration, and goes on looking', async () => {
    const { code, checks } = await checksOf({
      PARLEY_DATA_DIR: parley.dataDir,
      PARLEY_BOGUS: '1',
      PORT: 'x',
    });
    assert.equal(code, 1);
    assert.deepEqual(statusOf(checks, 'configuration'), ['fail', 'fail']);
    assert.deepEqual(statusOf(checks, 'database'), ['ok']);
  });
});

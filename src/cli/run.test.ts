import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { Authenticator } from '../auth/authenticator.ts';
import { DATABASE_FILE, openStorage } from '../storage/storage.ts';
import { run } from './run.ts';

describe('the command line', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-cli-'));
    await (await openStorage(dataDir)).close();
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  async function parley(...argv: string[]) {
    const out: string[] = [];
    const notes: string[] = [];
    const code = await run(argv, {
      terminal: { out: (line) => void out.push(line), note: (line) => void notes.push(line) },
      serve: (overrides) => Promise.resolve(Number(overrides.port ?? 0)),
      env: { PARLEY_DATA_DIR: dataDir },
    });
    return { code, out, notes: notes.join('\n') };
  }

  async function verdict(key: string) {
    const storage = await openStorage(dataDir);
    const auth = new Authenticator(storage.read.keys, storage.transact, (error) => assert.ifError(error));
    const found = await auth.byKey(key);
    await auth.close();
    await storage.close();
    return found.ok ? found.principal.userName : found.why;
  }

  test('keys create gives the key alone on the last line, and it lets in its user', async () => {
    const { code, out } = await parley('keys', 'create', '--user', 'bob', '--name', 'laptop');
    assert.equal(code, 0);
    assert.match(out.at(-1) ?? '', /^parley_[A-Za-z0-9_-]{43}$/);
    assert.equal(await verdict(out.at(-1) ?? ''), 'bob');
  });

  test('keys list shows everything but the keys, keys revoke ends one', async () => {
    const [key = ''] = (await parley('keys', 'create', '--user', 'bob', '--expires', '30d')).out;
    await parley('keys', 'create', '--user', 'eve');
    const { out } = await parley('keys', 'list', '--user', 'bob');
    assert.equal(out.length, 2);
    assert.ok(!out.join().includes(key));
    const id = out[1]?.split(' ')[0] ?? '';
    assert.equal((await parley('keys', 'revoke', id)).code, 0);
    assert.equal(await verdict(key), 'revoked');
    assert.match((await parley('keys', 'list')).out.join('\n'), new RegExp(`${id}.*revoked`));
    const unknown = await parley('keys', 'revoke', 'nope');
    assert.deepEqual([unknown.code, /no key nope/.test(unknown.notes)], [1, true]);
  });

  test('users are listed, disabled and enabled', async () => {
    const [key = ''] = (await parley('keys', 'create', '--user', 'bob')).out;
    assert.equal((await parley('users', 'disable', 'bob')).code, 0);
    assert.equal(await verdict(key), 'disabled');
    assert.match((await parley('users', 'list')).out.join('\n'), /bob.*disabled/);
    await parley('users', 'enable', 'bob');
    assert.equal(await verdict(key), 'bob');
    assert.equal((await parley('users', 'disable', 'eve')).code, 1);
  });

  test('users erase removes a user only when it is meant', async () => {
    const [key = ''] = (await parley('keys', 'create', '--user', 'bob')).out;
    assert.equal((await parley('users', 'erase', 'bob')).code, 1);
    assert.equal(await verdict(key), 'bob');
    assert.equal((await parley('users', 'erase', 'bob', '--yes')).code, 0);
    assert.equal(await verdict(key), 'unknown');
    assert.ok(!(await parley('users', 'list')).out.join().includes('bob'));
  });

  test('where no server has stored anything nothing is made', async () => {
    const missing = join(dataDir, 'missing');
    const empty = join(dataDir, 'empty');
    mkdirSync(empty);
    for (const argv of [
      ['keys', 'create', '--user', 'bob'],
      ['keys', 'list'],
      ['users', 'list'],
      ['audit'],
      ['secrets', 'rotate'],
      ['import-openhands', dataDir],
      ['backup', join(dataDir, 'a.tar')],
    ]) {
      for (const place of [missing, empty]) {
        dataDir = place;
        const { code, notes } = await parley(...argv);
        assert.deepEqual([code, notes.includes(`There is no database in ${place}.`)], [1, true], notes);
      }
    }
    dataDir = dirname(missing);
    assert.equal(existsSync(missing), false);
    assert.deepEqual(readdirSync(empty), []);
  });

  test('what is not understood is said, with exit code 2', async () => {
    for (const argv of [
      ['bogus'],
      ['keys'],
      ['keys', 'bogus'],
      ['keys', 'create'],
      ['keys', 'create', '--user', 'bob', '--expires', 'soon'],
      ['keys', 'create', '--user', 'b/o\nb'],
      ['keys', 'create', '--user', 'bob', '--bogus'],
      ['keys', 'create', '--user', 'bob', 'more'],
      ['keys', 'revoke'],
      ['serve', '--bogus'],
      ['toString', ''],
    ]) {
      const { code, notes } = await parley(...argv);
      assert.equal(code, 2, argv.join(' '));
      assert.match(notes, /^parley: .*parley help/s);
    }
  });

  test('help needs nothing, and serve is handed its options', async () => {
    assert.match((await parley('help')).out.join(), /parley serve/);
    assert.equal((await parley()).code, 0);
    assert.equal((await parley('serve', '--port', '7')).code, 7);
  });

  test('a database of a later release, or a damaged one, is left alone with a message', async () => {
    await parley('users', 'list');
    const path = join(dataDir, DATABASE_FILE);
    const database = new DatabaseSync(path);
    database.exec("insert into kysely_migration values ('9999-later', '2030-01-01')");
    database.close();
    const later = await parley('users', 'list');
    assert.deepEqual([later.code, /later release/.test(later.notes)], [1, true]);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    writeFileSync(path, 'this is no database, and long enough to be looked at'.repeat(100));
    const damaged = await parley('users', 'list');
    assert.deepEqual([damaged.code, /cannot be used/.test(damaged.notes)], [1, true]);
  });

  test('a data directory that cannot be one is said', async () => {
    writeFileSync(join(dataDir, 'file'), '');
    dataDir = join(dataDir, 'file');
    const { code, notes } = await parley('users', 'list');
    assert.deepEqual([code, /cannot be written \(EEXIST|cannot be written \(ENOTDIR/.test(notes)], [1, true]);
    dataDir = join(dataDir, '..');
  });
});

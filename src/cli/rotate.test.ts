import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ensureUser } from '../auth/keys.ts';
import { canonicalRequest, requestBinding } from '../conversations/request.ts';
import { openVault, type KeySource } from '../secrets/key-file.ts';
import { Secret } from '../secrets/secret.ts';
import { SettingsService } from '../settings/service.ts';
import { DATABASE_FILE, lockDataDirectory, openStorage } from '../storage/storage.ts';
import { run } from './run.ts';

const USERS = ['alice', 'bob'];
const ROOT = new URL('../../', import.meta.url);

async function opened(keys: KeySource) {
  const storage = await openStorage(keys.dataDir);
  const { read, transact } = storage;
  const vault = await openVault({
    ...keys,
    sentinel: {
      get: (name) => read.meta.get(name),
      set: (name, value) => transact(({ meta }) => meta.set(name, value)),
    },
  });
  const settings = new SettingsService({ read: read.settings, transact, vault, fetch });
  return { storage, vault, settings };
}

async function fill(keys: KeySource): Promise<void> {
  const { storage, vault, settings } = await opened(keys);
  for (const name of USERS) {
    const { id: userId } = await storage.transact(({ keys }) => ensureUser(keys, name));
    const actor = { userId, userName: name, keyId: 'none' };
    await settings.patch(actor, {
      llm_model: 'openai/x',
      llm_api_key: new Secret(`the model key of ${name}`),
      secrets_store: {
        provider_tokens: { github: new Secret(`the token of ${name}`) },
        custom_secrets: { KEPT: new Secret(`the secret of ${name}`) },
      },
    });
    const request = vault.seal(
      canonicalRequest({ initial_user_msg: `hello of ${name}` }),
      requestBinding(userId, 'c'),
    );
    const none = { selectedRepository: null, selectedBranch: null, gitProvider: null };
    const row = { id: 'c', userId, title: '', trigger: 'gui', createdAt: '', unfinished: false, request };
    await storage.transact(({ conversations }) => conversations.insert({ ...row, ...none }));
  }
  await storage.close();
}

/** Everything that was sealed, opened with the keys at hand. */
async function assertAllOpens(keys: KeySource): Promise<void> {
  const { storage, vault, settings } = await opened(keys);
  try {
    for (const user of await storage.read.keys.listUsers()) {
      const { model, tokens, customSecrets } = await settings.snapshot(user.id);
      assert.equal(model?.apiKey?.unwrap(), `the model key of ${user.name}`);
      assert.equal(tokens[0]?.token.unwrap(), `the token of ${user.name}`);
      assert.equal(customSecrets['KEPT']?.secret.unwrap(), `the secret of ${user.name}`);
      const row = await storage.read.conversations.find(user.id, 'c');
      const sealed = await storage.read.conversations.request(row?.key ?? 0);
      assert.match(vault.open(sealed, requestBinding(user.id, 'c')).unwrap(), /hello of/);
    }
  } finally {
    await storage.close();
  }
}

describe('secrets rotate', () => {
  let place: string;
  let dataDir: string;
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'parley-rotate-'));
    dataDir = join(place, 'data');
    mkdirSync(dataDir);
  });
  afterEach(() => rmSync(place, { recursive: true }));

  async function rotate(env: Record<string, string> = {}, ...args: string[]) {
    const notes: string[] = [];
    const code = await run(['secrets', 'rotate', ...args], {
      terminal: { out: () => {}, note: (line) => void notes.push(line) },
      serve: () => Promise.resolve(0),
      env: { PARLEY_DATA_DIR: dataDir, ...env },
    });
    return { code, notes: notes.join('\n') };
  }
  const keyFile = (name = 'secret-key'): string => readFileSync(join(dataDir, name), 'utf8');
  const keys = (): KeySource => ({ dataDir, given: null });
  const sealedWith = (): Set<string> => {
    const text = readFileSync(join(dataDir, DATABASE_FILE), 'latin1');
    return new Set([...text.matchAll(/v1\.([0-9a-f]{12})\./g)].map(([, id = '']) => id));
  };

  test('seals everything anew, keeps nothing of the old key, and removes it', async () => {
    await fill(keys());
    const [before, former] = [keyFile(), sealedWith()];
    const { code, notes } = await rotate();
    assert.deepEqual([code, /8 values are sealed anew/.test(notes)], [0, true], notes);
    assert.notEqual(keyFile(), before);
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith('secret-key')),
      ['secret-key'],
    );
    assert.equal(sealedWith().size, 1);
    assert.ok(![...former].some((id) => sealedWith().has(id)), 'no page has a value that the old key opens');
    await assertAllOpens(keys());
  });

  test('takes the key that is given in a file', async () => {
    await fill(keys());
    const file = join(place, 'new');
    writeFileSync(file, randomBytes(32).toString('base64'));
    assert.equal((await rotate({}, '--key-file', file)).code, 0);
    assert.equal(keyFile().trim(), readFileSync(file, 'utf8'));
    await assertAllOpens(keys());
    assert.match((await rotate({}, '--key-file', file)).notes, /in use already/);
    assert.match((await rotate({}, '--key-file', join(place, 'none'))).notes, /cannot be read/);
    writeFileSync(file, 'short');
    assert.match((await rotate({}, '--key-file', file)).notes, /must hold 32 bytes/);
    await assertAllOpens(keys());
  });

  test('refuses while a server runs, and where there is nothing to seal anew', async () => {
    assert.deepEqual((await rotate()).code, 1);
    await fill(keys());
    const before = keyFile();
    const lock = lockDataDirectory(dataDir);
    const { code, notes } = await rotate();
    lock.release();
    assert.deepEqual([code, /Another Parley serves/.test(notes)], [1, true]);
    assert.equal(keyFile(), before);
  });

  test('a key from outside: says how, then seals anew with both given', async () => {
    const [old, next] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
    await fill({ dataDir, given: new Secret(old) });
    const how = await rotate({ PARLEY_SECRET_KEY: old });
    assert.deepEqual([how.code, /PARLEY_SECRET_KEY_PREVIOUS/.test(how.notes)], [1, true]);
    await assertAllOpens({ dataDir, given: new Secret(next), previous: new Secret(old) });
    const done = await rotate({ PARLEY_SECRET_KEY: next, PARLEY_SECRET_KEY_PREVIOUS: old });
    assert.deepEqual([done.code, /can go/.test(done.notes)], [0, true], done.notes);
    await assertAllOpens({ dataDir, given: new Secret(next) });
    await assert.rejects(assertAllOpens({ dataDir, given: new Secret(old) }), /is not the one/);
  });

  test('killed before any of its steps, all still opens, and called again it comes to its end', async () => {
    await fill(keys());
    const filled = join(place, 'filled');
    cpSync(dataDir, filled, { recursive: true });
    const before = keyFile();
    let killed = 0;
    for (let at = 1; ; at += 1) {
      rmSync(dataDir, { recursive: true });
      cpSync(filled, dataDir, { recursive: true });
      const { signal, status, stderr } = spawnSync(
        process.execPath,
        ['--import', './test/support/failpoints/kill-at.ts', 'src/main.ts', 'secrets', 'rotate'],
        { cwd: ROOT, env: { PARLEY_DATA_DIR: dataDir, KILL_AT: String(at) }, encoding: 'utf8' },
      );
      if (signal === null) {
        assert.equal(status, 0, stderr);
        break;
      }
      killed += 1;
      await assertAllOpens(keys());
      const { code, notes } = await rotate();
      assert.equal(code, 0, `after step ${at}: ${notes}`);
      await assertAllOpens(keys());
      assert.notEqual(keyFile(), before);
      assert.ok(!existsSync(join(dataDir, 'secret-key.old')), `step ${at}`);
      assert.equal(sealedWith().size, 1, `step ${at}`);
    }
    assert.ok(killed >= 10, `${killed} steps`);
    copyFileSync(join(filled, 'secret-key'), join(dataDir, 'secret-key'));
    await assert.rejects(assertAllOpens(keys()), /is not the one/, 'the test can fail');
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Secret } from '../secrets/secret.ts';
import { type Storage, openStorage } from '../storage/storage.ts';
import { Authenticator } from './authenticator.ts';
import { createKey, ensureUser } from './keys.ts';
import { SESSION_KEY_FILE, ensureSessionKey } from './session-key.ts';

describe('the session key', () => {
  let dataDir: string;
  let storage: Storage;
  let auth: Authenticator;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-session-key-'));
    storage = await openStorage(dataDir);
    auth = new Authenticator(storage.read.keys, storage.transact, (error) => assert.ifError(error));
  });
  afterEach(async () => {
    await auth.close();
    await storage.close();
    await rm(dataDir, { recursive: true });
  });

  const start = (given: string | null) =>
    ensureSessionKey({
      dataDir,
      given: given === null ? null : new Secret(given),
      transact: storage.transact,
    });
  const counts = async (key: string) => (await auth.byKey(key)).ok;

  test('is made by a first start, written for its owner alone, and kept by the next', async () => {
    const { made, file } = await start(null);
    assert.match(made?.unwrap() ?? '', /^parley_[A-Za-z0-9_-]{43}$/);
    assert.equal(await readFile(file, 'utf8'), `${made?.unwrap()}\n`);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(
      await auth.byKey(made?.unwrap() ?? '').then((v) => v.ok && v.principal.userName),
      'default',
    );
    assert.equal((await start(null)).made, null);
    assert.ok(await counts(made?.unwrap() ?? ''));
  });

  test('is the given one, whatever it was before, and only that', async () => {
    const { made } = await start(null);
    await start('first');
    assert.deepEqual([await counts(made?.unwrap() ?? ''), await counts('first')], [false, true]);
    await start('second');
    assert.deepEqual([await counts('first'), await counts('second')], [false, true]);
    await start('first');
    assert.deepEqual([await counts('first'), await counts('second')], [true, false]);
  });

  test('that was revoked does not come back from its file: a new one is made', async () => {
    const { made } = await start(null);
    const user = await storage.read.keys.findUser('default');
    const [row] = await storage.read.keys.listKeys(user?.id ?? '');
    await storage.transact(({ keys }) => keys.revokeKey(row?.id ?? '', new Date().toISOString()));
    const again = await start(null);
    assert.ok(again.made && again.made.unwrap() !== made?.unwrap());
    assert.deepEqual([await counts(made?.unwrap() ?? ''), await counts(again.made.unwrap())], [false, true]);
    assert.equal((await readFile(join(dataDir, SESSION_KEY_FILE), 'utf8')).trim(), again.made.unwrap());
  });

  test('leaves other keys alone, and is never one of another user', async () => {
    const bobs = await storage.transact(async ({ keys }) =>
      createKey(keys, await ensureUser(keys, 'bob'), { label: '', expiresAt: null }),
    );
    const more = await storage.transact(async ({ keys }) =>
      createKey(keys, await ensureUser(keys, 'default'), { label: 'laptop', expiresAt: null }),
    );
    await start('first');
    await start('second');
    assert.ok((await counts(bobs.key.unwrap())) && (await counts(more.key.unwrap())));
    await assert.rejects(start(bobs.key.unwrap()), /a key of the user bob/);
  });

  test('a key counts until its end; when it was last used is written by a flush', async () => {
    let now = new Date('2026-01-01T00:00:00Z');
    const clocked = new Authenticator(storage.read.keys, storage.transact, (error) => assert.ifError(error), {
      now: () => now,
    });
    const { key } = await storage.transact(async ({ keys }) =>
      createKey(keys, await ensureUser(keys, 'bob'), {
        label: '',
        expiresAt: new Date('2026-01-02T00:00:00Z'),
      }),
    );
    const first = await clocked.byKey(key.unwrap());
    assert.ok(first.ok);
    now = new Date('2026-01-02T00:00:00Z');
    assert.deepEqual(await clocked.byKey(key.unwrap()), { ok: false, why: 'expired' });
    await clocked.close();
    const [row] = await storage.read.keys.listKeys(first.principal.userId);
    assert.equal(row?.lastUsedAt, '2026-01-01T00:00:00.000Z');
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { KEY_FILE, openVault } from './key-file.ts';
import { Secret } from './secret.ts';
import type { Binding } from './vault.ts';

const BINDING: Binding = ['t', 'u', 'm', 'd'];

describe('the key of the vault', () => {
  let dataDir: string;
  let rows: Map<string, string>;
  const sentinel = {
    get: (name: string) => Promise.resolve(rows.get(name)),
    set: (name: string, value: string) => {
      rows.set(name, value);
      return Promise.resolve();
    },
  };
  const open = (given: Buffer | null = null) =>
    openVault({ dataDir, given: given && new Secret(given.toString('base64')), sentinel });

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-key-'));
    rows = new Map();
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  test('is made by the first start, for its owner alone, and used by the next', async () => {
    const first = await open();
    const path = join(dataDir, KEY_FILE);
    assert.deepEqual(readdirSync(dataDir), [KEY_FILE]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(Buffer.from(readFileSync(path, 'utf8'), 'base64').length, 32);
    const sealed = first.seal(new Secret('hunter2'), BINDING);
    assert.equal((await open()).open(sealed, BINDING).unwrap(), 'hunter2');
  });

  test('when it is given, no file is made', async () => {
    const vault = await open(Buffer.alloc(32, 1));
    assert.deepEqual(readdirSync(dataDir), []);
    assert.equal((await open(Buffer.alloc(32, 1))).keyId, vault.keyId);
  });

  test('that is another one ends the start and changes nothing', async () => {
    await open(Buffer.alloc(32, 1));
    const before = new Map(rows);
    await assert.rejects(
      open(Buffer.alloc(32, 2)),
      /PARLEY_SECRET_KEY is not the one .* Nothing was changed/,
    );
    writeFileSync(join(dataDir, KEY_FILE), Buffer.alloc(32, 3).toString('base64'));
    await assert.rejects(open(), /secret-key is not the one/);
    assert.deepEqual(rows, before);
  });

  test('that is gone, or cut short, ends the start and is not made anew', async () => {
    await open();
    const path = join(dataDir, KEY_FILE);
    writeFileSync(path, 'AAAA');
    await assert.rejects(open(), /must hold 32 bytes/);
    rmSync(path);
    await assert.rejects(open(), /secret-key is gone/);
    assert.deepEqual(readdirSync(dataDir), []);
  });

  test('that was being made when its maker was killed leaves nothing', async () => {
    const { pid } = spawnSync('true');
    for (const left of [pid, process.pid]) writeFileSync(join(dataDir, `${KEY_FILE}.${left}`), 'half a k');
    const others = [`${KEY_FILE}.${process.ppid}`, `${KEY_FILE}.old`];
    for (const name of others) writeFileSync(join(dataDir, name), Buffer.alloc(32, 4).toString('base64'));
    await open();
    assert.deepEqual(readdirSync(dataDir).toSorted(), [KEY_FILE, ...others].toSorted());
  });

  test('survives when the database is made anew', async () => {
    const { keyId } = await open();
    rows.clear();
    assert.equal((await open()).keyId, keyId);
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { AuditEntry } from '../audit/audit.ts';
import { openStorage } from '../storage/storage.ts';
import { run } from './run.ts';

describe('parley audit', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-audit-'));
    await (await openStorage(dataDir)).close();
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  async function parley(...argv: string[]): Promise<{ code: number; out: string[] }> {
    const out: string[] = [];
    const code = await run(argv, {
      terminal: { out: (line) => void out.push(line), note: () => {} },
      serve: () => Promise.resolve(0),
      env: { PARLEY_DATA_DIR: dataDir },
    });
    return { code, out };
  }
  const entries = async (...argv: string[]) =>
    (await parley('audit', '--json', ...argv)).out.map((line) => JSON.parse(line) as AuditEntry);

  test('tells what the command line did to keys and users, and never a key', async () => {
    const key = (await parley('keys', 'create', '--user', 'bob', '--name', 'laptop')).out.at(-1) ?? '';
    const [created] = await entries();
    await parley('keys', 'revoke', created?.subject ?? '');
    await parley('users', 'disable', 'bob');
    await parley('users', 'enable', 'bob');
    await parley('users', 'erase', 'bob', '--yes');
    const all = await entries();
    assert.deepEqual(
      all.map(({ action, user, actor }) => [action, user, actor]),
      ['key.created', 'key.revoked', 'user.disabled', 'user.enabled', 'user.erased'].map((action) => [
        action,
        'bob',
        'command line',
      ]),
    );
    assert.deepEqual(created?.detail, { label: 'laptop', expires: null });
    assert.ok(!JSON.stringify(all).includes(key));
  });

  test('what could not be done leaves no entry', async () => {
    await parley('keys', 'revoke', 'nope');
    await parley('users', 'disable', 'nobody');
    assert.deepEqual(await entries(), []);
  });

  test('gives one user, or one time, and lines for people', async () => {
    await parley('keys', 'create', '--user', 'ann');
    await parley('keys', 'create', '--user', 'bob');
    assert.deepEqual(
      (await entries('--user', 'bob')).map(({ user }) => user),
      ['bob'],
    );
    assert.equal((await entries('--since', '1h')).length, 2);
    const { out } = await parley('audit');
    assert.match(out[0] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d  key\.created +ann +command line/);
    assert.equal((await parley('audit', '--since', 'yesterday')).code, 2);
  });

  test('gives all of a log that is longer than a page', async () => {
    const storage = await openStorage(dataDir);
    const fact = { action: 'key.created', userId: null, actor: 'service' } as const;
    const facts = Array.from({ length: 1_201 }, (_, n) => ({ ...fact, subject: String(n) }));
    await storage.transact(({ audit }) => audit.add(facts));
    await storage.close();
    const subjects = (await entries()).map(({ subject }) => subject);
    assert.deepEqual(
      subjects,
      facts.map(({ subject }) => subject),
    );
  });
});

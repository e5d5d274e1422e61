import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { type Migration, Migrator } from 'kysely/migration';
import { newConversation } from '../../test/conformance/stores.ts';
import * as first from './migrations/0001-first.ts';
import * as audit from './migrations/0002-audit.ts';
import * as feedback from './migrations/0003-feedback.ts';
import { openForWriting, SqliteKysely } from './sqlite.ts';
import { DATABASE_FILE, DataDirectoryInUse, LOCK_FILE, lockDataDirectory, openStorage } from './storage.ts';

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-storage-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** Runs a program that may import this folder's modules, until the test ends. */
function runProgram(t: TestContext, program: string, ...args: string[]): ChildProcess {
  const modules = `import { openStorage, lockDataDirectory } from ${JSON.stringify(new URL('storage.ts', import.meta.url))};`;
  const child = spawn(
    process.execPath,
    ['--input-type=module-typescript', '-e', modules + program, '--', ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  return child;
}

test('what was acknowledged is there after the process was killed', async (t) => {
  const directory = temporaryDirectory(t);
  const child = runProgram(
    t,
    `
      const storage = await openStorage(process.argv[1]);
      const write = async (n) => {
        await storage.transact(({ meta }) => meta.set(String(n), 'kept'));
        process.stdout.write(n + '\\n');
      };
      for (let n = 0; ; n += 4) await Promise.all([write(n), write(n + 1), write(n + 2), write(n + 3)]);
    `,
    directory,
  );
  assert.ok(child.stdout);
  const acknowledged: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(line);
    if (acknowledged.length === 200) child.kill('SIGKILL');
  }
  assert.ok(acknowledged.length >= 200);
  const storage = await openStorage(directory);
  t.after(() => storage.close());
  for (const name of acknowledged) assert.equal(await storage.read.meta.get(name), 'kept');
});

test('a new database is opened as soon as another process that has it locked lets go', async (t) => {
  const directory = temporaryDirectory(t);
  const other = new DatabaseSync(join(directory, DATABASE_FILE));
  other.exec('begin immediate; create table t (c)');
  const opening = openStorage(directory);
  // Asked for once by now, and refused.
  await new Promise((resolve) => setImmediate(resolve));
  other.exec('rollback');
  other.close();
  const storage = await opening;
  t.after(() => storage.close());
  assert.equal(await storage.read.meta.get('a'), undefined);
});

test('two processes that make the same database at once both succeed', async (t) => {
  const directory = temporaryDirectory(t);
  const program = `
    const storage = await openStorage(process.argv[1]);
    await storage.transact(({ meta }) => meta.set(process.argv[2], 'kept'));
    await storage.close();
  `;
  const children = ['a', 'b', 'c'].map((name) => runProgram(t, program, directory, name));
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  assert.deepEqual(codes, [0, 0, 0]);
  const storage = await openStorage(directory);
  t.after(() => storage.close());
  for (const name of ['a', 'b', 'c']) assert.equal(await storage.read.meta.get(name), 'kept');
});

test('opening again changes nothing and keeps what is stored', async (t) => {
  const directory = temporaryDirectory(t);
  const first = await openStorage(directory);
  await first.transact(({ meta }) => meta.set('a', 'kept'));
  await first.close();
  const tables = () => {
    const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
    const rows = database.prepare('select name, sql from sqlite_schema order by name').all();
    const done = database.prepare('select * from kysely_migration').all();
    database.close();
    return [...rows, ...done];
  };
  const before = tables();
  const second = await openStorage(directory);
  assert.equal(await second.read.meta.get('a'), 'kept');
  await second.close();
  assert.deepEqual(tables(), before);
});

test('who waited before the order of waiting was noted waits in the order of creation', async (t) => {
  const directory = temporaryDirectory(t);
  const former = await formerRelease(directory, {
    '0001-first': first,
    '0002-audit': audit,
    '0003-feedback': feedback,
  });
  for (const id of ['done', 'one', 'two']) addFormer(former, { id, wanted: id === 'done' ? 0 : 1 });
  former.close();
  const storage = await openStorage(directory);
  t.after(() => storage.close());
  await storage.transact(({ conversations }) => conversations.change(1, { wanted: true }));
  const waiting = await storage.read.conversations.waiting();
  assert.deepEqual(
    waiting.map(({ key }) => key),
    [2, 3, 1],
  );
  assert.equal(await storage.read.conversations.countWaiting('u'), 3);
});

test('conversations that were found by user and id keep all they have, and are found as before', async (t) => {
  const directory = temporaryDirectory(t);
  const former = await formerRelease(directory, { '0001-first': first });
  for (const id of ['one', 'two', 'removed']) addFormer(former, { id, wanted: 1 });
  former.exec("insert into events values (1, 0, '{}'), (2, 0, '{}')");
  former.exec("delete from conversations where id = 'removed'");
  former.close();
  const storage = await openStorage(directory);
  t.after(() => storage.close());
  assert.equal((await storage.read.conversations.find('u', 'two'))?.key, 2);
  assert.equal(await storage.read.conversations.find('v', 'two'), undefined);
  const events = (key: number) => storage.read.events.read(key, { from: 0, limit: 9, maxBytes: 99 });
  assert.deepEqual(await events(1), [{ id: 0, json: '{}' }]);
  await storage.transact(({ conversations }) => conversations.remove(1));
  assert.deepEqual(await events(1), []);
  assert.deepEqual(await events(2), [{ id: 0, json: '{}' }]);
  assert.equal(await storage.read.conversations.countWaiting('u'), 1);
  const add = (id: string) =>
    storage.transact(({ conversations }) => conversations.insert(newConversation('u', { id })));
  assert.equal(await add('new'), 4);
  await assert.rejects(add('two'), /UNIQUE/);
  await assert.rejects(
    storage.transact(({ conversations }) => conversations.insert(newConversation('nobody'))),
    /FOREIGN KEY/,
  );
});

/** A database as a former release left it, with the user `u`. */
async function formerRelease(
  directory: string,
  migrations: Record<string, Migration>,
): Promise<DatabaseSync> {
  const database = await openForWriting(join(directory, DATABASE_FILE));
  const db = new SqliteKysely(database);
  const provider = { getMigrations: () => Promise.resolve(migrations) };
  const { error } = await new Migrator({ db, provider }).migrateToLatest();
  assert.equal(error, undefined);
  database.exec("insert into users values ('u', 'u', '', null)");
  return database;
}

function addFormer(database: DatabaseSync, { id, wanted }: { id: string; wanted: 0 | 1 }): void {
  database
    .prepare(
      `insert into conversations (id, user_id, title, trigger_kind, status, agent_state, created_at, updated_at,
         last_event_id, last_user_message, accumulated_cost, prompt_tokens, completion_tokens, generation, wanted,
         unfinished, prepared, iterations, budget_from, request)
       values (?, 'u', '', 'gui', 'STOPPED', 'stopped', '', '', 0, -1, 0, 0, 0, 0, ?, 0, 0, 0, 0, '')`,
    )
    .run(id, wanted);
}

test('a database of a later release is refused and left as it is', async (t) => {
  const directory = temporaryDirectory(t);
  await (await openStorage(directory)).close();
  const path = join(directory, DATABASE_FILE);
  const later = new DatabaseSync(path);
  later.exec("insert into kysely_migration values ('9999-later', '2999-01-01T00:00:00.000Z')");
  later.exec('alter table meta add column later text');
  later.close();
  const before = readFileSync(path);
  await assert.rejects(openStorage(directory), (error) => {
    assert.ok(error instanceof Error);
    assert.equal(error.name, 'DatabaseTooNew');
    assert.match(error.message, /9999-later/);
    return true;
  });
  assert.deepEqual(readFileSync(path), before);
});

test('what is not a database is refused and left as it is', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, DATABASE_FILE);
  writeFileSync(path, 'my notes, in a file of the same name');
  await assert.rejects(openStorage(directory), /not a database/);
  assert.equal(readFileSync(path, 'utf8'), 'my notes, in a file of the same name');
});

test('the database can be read by its owner alone', async (t) => {
  const directory = temporaryDirectory(t);
  const storage = await openStorage(directory);
  t.after(() => storage.close());
  await storage.transact(({ meta }) => meta.set('a', '1'));
  for (const suffix of ['', '-wal', '-shm']) {
    assert.equal(statSync(join(directory, DATABASE_FILE + suffix)).mode & 0o777, 0o600, suffix);
  }
});

test('a listener that throws does not undo the write, keep others from hearing, or go unseen', async (t) => {
  const child = runProgram(
    t,
    `
      process.on('uncaughtException', ({ message }) => console.log('uncaught', message));
      const storage = await openStorage(process.argv[1], (conversation) => {
        console.log('told of', conversation);
        if (conversation === 1) throw new Error('a fault');
      });
      const event = { source: 'user', action: 'think', message: '', args: { thought: '' } };
      await storage.transact(async ({ keys, conversations }) => {
        await keys.addUser({ id: 'u', name: 'u', createdAt: '', disabledAt: null });
        const given = { userId: 'u', title: '', trigger: '', createdAt: '', request: '', unfinished: true };
        const none = { selectedRepository: null, selectedBranch: null, gitProvider: null };
        for (const id of ['one', 'two']) await conversations.insert({ id, ...given, ...none });
      });
      const append = (key) => storage.transact(({ events }) => events.append(key, [event]));
      await Promise.all([append(1), append(2)]);
      console.log('stored', (await storage.read.conversations.get(1)).lastEventId);
      await storage.close();
    `,
    temporaryDirectory(t),
  );
  assert.ok(child.stdout);
  const said: string[] = [];
  for await (const line of createInterface(child.stdout)) said.push(line);
  assert.deepEqual(said.toSorted(), ['stored 0', 'told of 1', 'told of 2', 'uncaught a fault']);
});

test('one process holds a data directory, until it ends, however it ends', async (t) => {
  const directory = temporaryDirectory(t);
  const lock = lockDataDirectory(directory);
  assert.equal(statSync(join(directory, LOCK_FILE)).mode & 0o777, 0o600, 'nobody else can lock it');
  assert.throws(() => lockDataDirectory(directory), DataDirectoryInUse);

  const tries = `
    try {
      // Held by what stays: a lock that nobody can release any more is collected, and let go.
      const lock = lockDataDirectory(process.argv[1]);
      setInterval(() => lock, 1000);
      process.stdout.write('locked\\n');
    }
    catch (error) { process.stdout.write(error.name + '\\n'); }
  `;
  const firstLine = async (child: ChildProcess) => {
    assert.ok(child.stdout);
    for await (const line of createInterface(child.stdout)) return line;
    return undefined;
  };
  assert.equal(await firstLine(runProgram(t, tries, directory)), 'DataDirectoryInUse');
  lock.release();

  const child = runProgram(t, tries, directory);
  assert.equal(await firstLine(child), 'locked');
  assert.throws(() => lockDataDirectory(directory), DataDirectoryInUse);
  child.kill('SIGKILL');
  await once(child, 'exit');
  lockDataDirectory(directory).release();
});

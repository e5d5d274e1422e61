import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { ServiceError } from '../errors.ts';
import { type BatchObserver, GroupCommit } from './group-commit.ts';
import { openForReading, openForWriting } from './sqlite.ts';

/** A database of one table, what was done to it in order, and what was published. */
async function setUp(t: TestContext, { patienceMs = 60_000, gatherMs = 60_000 } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'parley-commit-'));
  const path = join(directory, 'test.db');
  const database = await openForWriting(path);
  const reading = openForReading(path);
  t.after(() => {
    reading.close();
    database.close();
    rmSync(directory, { recursive: true });
  });
  database.exec('create table kept (value text primary key)');
  const said: string[] = [];
  const published: string[] = [];
  let pending: string[] = [];
  const observer: BatchObserver = {
    mark: () => pending.length,
    drop: (mark: number) => pending.splice(mark),
    publish: () => {
      said.push(`published ${pending.join(' ')}`);
      published.push(...pending);
      pending = [];
    },
  };
  const commits = new GroupCommit(database, observer, { patienceMs, gatherMs });
  const insert = (value: string) => {
    database.prepare('insert into kept values (?)').run(value);
    pending.push(value);
    return Promise.resolve(value);
  };
  return {
    path,
    database,
    commits,
    observer,
    said,
    published,
    insert,
    write: (value: string) => commits.write(() => insert(value)),
    stored: () =>
      reading
        .prepare('select value from kept order by rowid')
        .all()
        .map((row) => row['value']),
  };
}

const isUnavailable = (detail: RegExp) => (error: unknown) =>
  error instanceof ServiceError && error.code === 'storage_unavailable' && detail.test(error.message);

test('the writes of one turn share one commit, and their callers are answered after it', async (t) => {
  const { said, stored, published, write } = await setUp(t);
  await Promise.all(
    ['a', 'b', 'c'].map(async (value) => {
      await write(value);
      said.push(`told ${value}, which has ${stored().join(' ')}`);
    }),
  );
  assert.deepEqual(said, [
    'published a b c',
    'told a, which has a b c',
    'told b, which has a b c',
    'told c, which has a b c',
  ]);
  assert.deepEqual(published, ['a', 'b', 'c']);
});

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('a commit waits for the writes of the next turns while each brings more', async (t) => {
  const { said, write } = await setUp(t);
  const first = [write('a'), write('b')];
  await nextTurn();
  await Promise.all([...first, write('c')]);
  assert.deepEqual(said, ['published a b c']);
});

test('a commit waits neither for the rest of a turn when that takes too long', async (t) => {
  const { said, write } = await setUp(t, { gatherMs: 0 });
  const next = nextTurn().then(() => said.push('the next turn'));
  const writes = [write('a')];
  const gathering = performance.now();
  while (performance.now() <= gathering);
  writes.push(write('b'));
  await Promise.all([...writes, next]);
  assert.deepEqual(said, ['published a b', 'the next turn']);
});

test('who is answered first goes on before the next is answered', async (t) => {
  const { said, write } = await setUp(t);
  await Promise.all(
    ['a', 'b'].map(async (value) => {
      await write(value);
      said.push(`told ${value}`);
      for (let n = 0; n < 100; n += 1) await Promise.resolve();
      said.push(`${value} went on`);
    }),
  );
  assert.deepEqual(said, ['published a b', 'told a', 'a went on', 'told b', 'b went on']);
});

test('a write that comes alone waits for no other', async (t) => {
  const { said, write } = await setUp(t);
  const alone = write('a');
  await nextTurn();
  await Promise.all([alone, write('b')]);
  assert.deepEqual(said, ['published a', 'published b']);
});

test('a commit does not wait for ever while more and more comes', async (t) => {
  const { published, write } = await setUp(t);
  const writes: Promise<string>[] = [];
  while (published.length === 0) {
    writes.push(write(`${writes.length}`), write(`${writes.length} too`));
    await nextTurn();
  }
  await Promise.all(writes);
  assert.equal(published.length, writes.length);
});

test('a write that comes during a commit is in the next', async (t) => {
  const { said, commits, insert, write } = await setUp(t);
  let late: Promise<string> | undefined;
  await commits.write(() => {
    late = write('late');
    return insert('early');
  });
  await late;
  assert.deepEqual(said, ['published early', 'published late']);
});

test('a write that throws is taken back and not published, its neighbours are kept', async (t) => {
  const { commits, insert, write, stored, published } = await setUp(t);
  const reason = new Error('no');
  const writes = await Promise.allSettled([
    write('a'),
    commits.write(async () => {
      await insert('never');
      throw reason;
    }),
    write('a'),
    write('b'),
  ]);
  assert.deepEqual(
    writes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(writes[1], { status: 'rejected', reason });
  assert.deepEqual(stored(), ['a', 'b']);
  assert.deepEqual(published, ['a', 'b']);
});

test('a full disk fails the whole batch: nothing of it is stored or published, and it says so', async (t) => {
  const { database, commits, insert, write, stored, published } = await setUp(t);
  await write('before');
  const limit = (pages: number) => database.exec(`pragma max_page_count = ${pages}`);
  const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number };
  limit(pages + 2);
  const large = () => commits.write(() => insert('x'.repeat(100_000)));
  const writes = await Promise.allSettled([write('a'), large(), write('b')]);
  for (const outcome of writes) {
    assert.ok(outcome.status === 'rejected' && isUnavailable(/disk is full/)(outcome.reason));
  }
  assert.deepEqual(stored(), ['before']);
  assert.deepEqual(published, ['before']);

  limit(1_000_000);
  await write('after');
  assert.deepEqual(stored(), ['before', 'after']);
});

test('a commit that fails fails the whole batch, and the next one works', async (t) => {
  const { database, commits, write, stored, published } = await setUp(t);
  database.exec('create table parent (id text primary key)');
  database.exec('create table child (id text references parent deferrable initially deferred)');
  const orphan = async () => {
    database.exec("insert into child values ('nobody')");
  };
  await assert.rejects(
    Promise.all([commits.write(orphan), commits.write(orphan)]),
    isUnavailable(/refused the write/),
  );
  assert.equal(database.isTransaction, false);
  await write('after');
  assert.deepEqual(stored(), ['after']);
  assert.deepEqual(published, ['after']);
});

test('a database that another process holds is waited for, with the event loop free', async (t) => {
  const { path, write, stored } = await setUp(t);
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  const first = write('a');
  let turns = 0;
  while (turns < 20) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    turns += 1;
  }
  // A write that had waited inside SQLite would have failed by now: the lock is held by this very thread.
  assert.deepEqual(stored(), []);
  const second = write('b');
  other.exec('rollback');
  other.close();
  await Promise.all([first, second]);
  assert.deepEqual(stored(), ['a', 'b']);
});

test('a database that another process goes on holding fails what waits, and says so', async (t) => {
  const { path, write, stored } = await setUp(t, { patienceMs: 30 });
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  await Promise.all([
    assert.rejects(write('a'), isUnavailable(/another process/)),
    assert.rejects(write('b'), isUnavailable(/another process/)),
  ]);
  other.exec('rollback');
  other.close();
  await write('c');
  assert.deepEqual(stored(), ['c']);
});

test('a batch that fails before its first write leaves no transaction to the next', async (t) => {
  const { database, observer, write, stored } = await setUp(t);
  observer.begun = () => {
    delete observer.begun;
    throw new Error('cannot look');
  };
  await assert.rejects(write('a'), isUnavailable(/refused the write/));
  assert.equal(database.isTransaction, false);
  await write('b');
  assert.deepEqual(stored(), ['b']);
});

test('drained waits for all that was asked for', async (t) => {
  const { commits, write, stored } = await setUp(t);
  const writes = ['a', 'b'].map(write);
  await commits.drained();
  assert.deepEqual(stored(), ['a', 'b']);
  await Promise.all(writes);
  await commits.drained();
});

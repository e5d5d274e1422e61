/**
 * Preloaded into the real service (`node --import`): lets something happen at its n-th durable write, and notes what
 * each write changes. A write is a commit: those of the start and of migrations too.
 *
 * `FAILPOINT=before:12` or `after:12`, counted from 1 in each process: SIGKILL before or after the write, as in a
 * crash. `full:12`: the disk is full then, and for a while after. `locked:12`: another connection holds the database
 * then, and for a while after. `FAILPOINT_TRACE=FILE` gets a line for each write that is about to be made: the tables
 * it changes; and FILE.met is made when it comes to the failpoint.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** Milliseconds that a disk stays full, or a database locked. */
const WHILE_MS = 300;

const [what, at] = (process.env['FAILPOINT'] ?? '').split(':');
const trace = process.env['FAILPOINT_TRACE'];
let changed = new Set<string>();
let begins = 0;
let commits = 0;
let fullUntil = 0;

function watched<Run extends (...values: never[]) => unknown>(execute: Run): Run {
  return new Proxy(execute, {
    apply(target, statement: StatementSync, values) {
      const sql = statement.sourceSQL;
      if (sql.startsWith('begin')) {
        changed = new Set();
        begins += 1;
        if (isMet('locked', begins)) holdDatabase();
      }
      const table = /^(?:insert into|update|delete from|create table) "?(\w+)/i.exec(sql)?.[1];
      if (table) changed.add(table);
      if (sql !== 'commit') return Reflect.apply(target, statement, values);
      commits += 1;
      if (trace) appendFileSync(trace, `${[...changed].toSorted().join(' ')}\n`);
      if (isMet('before', commits)) process.kill(process.pid, 'SIGKILL');
      if (isMet('full', commits)) fullUntil = performance.now() + WHILE_MS;
      if (performance.now() < fullUntil) throw new DiskFull();
      const result: unknown = Reflect.apply(target, statement, values);
      if (isMet('after', commits)) process.kill(process.pid, 'SIGKILL');
      return result;
    },
  });
}

function isMet(now: string, count: number): boolean {
  const met = what === now && count === Number(at);
  if (met && trace) appendFileSync(`${trace}.met`, '');
  return met;
}

/** As `node:sqlite` tells it (SQLITE_FULL). */
class DiskFull extends Error {
  readonly code = 'ERR_SQLITE_ERROR';
  readonly errcode = 13;

  constructor() {
    super('database or disk is full');
  }
}

/** By a thread: this one may wait for the lock in SQLite, and could not let go of it meanwhile. Returns when it is held. */
function holdDatabase(): void {
  const held = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    const { workerData: { path, held, ms } } = require('node:worker_threads');
    const database = new (require('node:sqlite').DatabaseSync)(path, { timeout: 5000 });
    database.exec('begin immediate');
    Atomics.store(held, 0, 1);
    Atomics.notify(held, 0);
    Atomics.wait(held, 0, 1, ms);
    database.exec('rollback');
    database.close();`;
  const path = join(process.env['PARLEY_DATA_DIR'] ?? '', 'parley.db');
  const worker = new Worker(program, {
    eval: true,
    execArgv: [],
    workerData: { path, held, ms: WHILE_MS },
  });
  worker.unref();
  Atomics.wait(held, 0, 0);
}

const { prototype } = StatementSync;
// oxlint-disable-next-line typescript/unbound-method -- the proxy passes the statement on
prototype.run = watched(prototype.run);
// oxlint-disable-next-line typescript/unbound-method -- as above; `insert … returning` gives rows
prototype.all = watched(prototype.all);

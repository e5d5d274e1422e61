/**
 * Preloaded into the real service (`node --import`): ends it by SIGKILL before or after its n-th durable write, as a
 * crash would, and notes what each write changes. A write is a commit: those of the start and of migrations too.
 *
 * `FAILPOINT=before:12` or `after:12`, counted from 1 in each process. `FAILPOINT_TRACE=FILE` gets a line for each
 * write that is about to be made: the tables it changes.
 */
import { appendFileSync } from 'node:fs';
import { StatementSync } from 'node:sqlite';

const [side, at] = (process.env['FAILPOINT'] ?? '').split(':');
const trace = process.env['FAILPOINT_TRACE'];
let changed = new Set<string>();
let commits = 0;

function watched<Run extends (...values: never[]) => unknown>(execute: Run): Run {
  return new Proxy(execute, {
    apply(target, statement: StatementSync, values) {
      const sql = statement.sourceSQL;
      if (sql.startsWith('begin')) changed = new Set();
      const table = /^(?:insert into|update|delete from|create table) "?(\w+)/i.exec(sql)?.[1];
      if (table) changed.add(table);
      if (sql !== 'commit') return Reflect.apply(target, statement, values);
      commits += 1;
      if (trace) appendFileSync(trace, `${[...changed].toSorted().join(' ')}\n`);
      dieAt('before');
      const result: unknown = Reflect.apply(target, statement, values);
      dieAt('after');
      return result;
    },
  });
}

function dieAt(now: 'before' | 'after'): void {
  if (side === now && commits === Number(at)) process.kill(process.pid, 'SIGKILL');
}

const { prototype } = StatementSync;
// oxlint-disable-next-line typescript/unbound-method -- the proxy passes the statement on
prototype.run = watched(prototype.run);
// oxlint-disable-next-line typescript/unbound-method -- as above; `insert … returning` gives rows
prototype.all = watched(prototype.all);

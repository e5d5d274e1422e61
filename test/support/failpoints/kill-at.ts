/**
 * Preloaded into the real program (`node --import`): ends it by SIGKILL before its n-th durable step, as a crash would.
 * A step is a commit, or a change of a directory: a file made, linked, renamed, removed, synced.
 * `KILL_AT=12`, counted from 1.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { StatementSync } from 'node:sqlite';

const at = Number(process.env['KILL_AT']);
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === at) process.kill(process.pid, 'SIGKILL');
}

for (const name of ['writeFileSync', 'linkSync', 'renameSync', 'rmSync', 'fsyncSync'] as const) {
  // Whatever it takes, it is handed on.
  const real = fs[name] as (...args: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      step();
      return real(...args);
    },
  });
}
syncBuiltinESMExports();

const { prototype } = StatementSync;
// oxlint-disable-next-line typescript/unbound-method -- the proxy passes the statement on
prototype.run = new Proxy(prototype.run, {
  apply(target, statement: StatementSync, values) {
    if (statement.sourceSQL === 'commit') step();
    return Reflect.apply(target, statement, values);
  },
});

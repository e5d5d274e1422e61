#!/usr/bin/env node
import type { Terminal } from './cli/terminal.ts';
import { tooOldNode } from './node-version.ts';

const terminal: Terminal = {
  out: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
};

// Before anything is loaded that an old Node has not: there a package of npm is started, too, whatever it asks for.
const tooOld = tooOldNode();
if (tooOld !== null) {
  terminal.note(`parley: ${tooOld}`);
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing has begun
  process.exit(1);
}

const { run } = await import('./cli/run.ts');
process.exitCode = await run(process.argv.slice(2), {
  terminal,
  serve: async (overrides) => {
    // Only who serves waits for all of it to load.
    const [{ readConfig }, { serve }, { build }, { keepRequestsYoung }] = await Promise.all([
      import('./config.ts'),
      import('./cli/serve.ts'),
      import('./app/app.ts'),
      import('./young-requests.ts'),
    ]);
    keepRequestsYoung();
    const code = await serve(readConfig(undefined, overrides), build, terminal);
    // What did not end in time must not keep the process.
    // oxlint-disable-next-line unicorn/no-process-exit -- see above
    process.exit(code);
  },
});

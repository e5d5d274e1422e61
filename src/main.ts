#!/usr/bin/env node
import { run } from './cli/run.ts';
import type { Terminal } from './cli/terminal.ts';

const terminal: Terminal = {
  out: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
};

process.exitCode = await run(process.argv.slice(2), {
  terminal,
  serve: async (overrides) => {
    // Only who serves waits for all of it to load.
    const [{ readConfig }, { serve }, { build }] = await Promise.all([
      import('./config.ts'),
      import('./cli/serve.ts'),
      import('./app/app.ts'),
    ]);
    const code = await serve(readConfig(undefined, overrides), build, terminal);
    // What did not end in time must not keep the process.
    // oxlint-disable-next-line unicorn/no-process-exit -- see above
    process.exit(code);
  },
});

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { ShellProcess } from '../shell/shell.ts';
import { MARK_VARIABLE, killMarked } from './marked-processes.ts';

/** A program in a session of its own. It is gone when none is left of all that carry its mark. */
export function startProcess(
  argv: readonly [string, ...string[]],
  place: { cwd: string; env: Readonly<Record<string, string>> },
): ShellProcess {
  const mark = randomUUID();
  const [program, ...rest] = argv;
  const child = spawn(program, rest, {
    cwd: place.cwd,
    env: { ...place.env, [MARK_VARIABLE]: mark },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const ended = new Promise<{ reason: string }>((resolve) => {
    child.once('error', (error) => resolve({ reason: `its shell could not be run (${error.message})` }));
    // Not `close`: what is left behind may hold the pipes.
    child.once('exit', (code, signal) =>
      resolve({ reason: `its shell ended with ${signal ?? `code ${code}`}` }),
    );
  });
  const exited = ended.then(async (end) => {
    await killMarked(mark);
    child.stdin.destroy();
    child.stdout.destroy();
    return end;
  });
  return { stdin: child.stdin, stdout: child.stdout, kill: () => child.kill('SIGKILL'), exited };
}

import { execFile } from 'node:child_process';

/** Where programs of the host are looked for; the service's own PATH may lead into a home directory. */
export const HOST_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** How a program of the host ended. `code` is -1 when it did not start or was stopped after `timeoutMs`. */
export interface Ended {
  code: number;
  missing: boolean;
  stdout: string;
  stderr: string;
}

/** Runs a program of the host with nothing of the service's environment. Never rejects. */
export async function runProgram(
  program: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<Ended> {
  return await new Promise((resolve) => {
    const options = {
      env: { PATH: HOST_PATH, LC_ALL: 'C' },
      timeout: timeoutMs,
      killSignal: 'SIGKILL' as const,
    };
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      const missing = error !== null && 'code' in error && String(error.code) === 'ENOENT';
      resolve({ code, missing, stdout, stderr: stderr || (error?.message ?? '') });
    });
  });
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A server of its own process, stopped when disposed of. */
export class ServerProgram implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.#child = child;
  }

  /** Starts it and waits until it takes connections. */
  static async start(
    args: readonly string[],
    port: number,
    env: Record<string, string> = {},
  ): Promise<ServerProgram> {
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    });
    const program = new ServerProgram(port, child);
    const deadline = performance.now() + 20_000;
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended with ${child.exitCode}`);
      if (performance.now() > deadline) throw new Error(`${args.join(' ')} does not answer`);
      await sleep(20);
    }
    return program;
  }

  /** Microseconds of processor time its threads have used, those that have ended left out. */
  async processorTime(): Promise<number> {
    const threads = `/proc/${this.#child.pid}/task`;
    let nanoseconds = 0;
    for (const thread of await readdir(threads)) {
      const used = await readFile(`${threads}/${thread}/schedstat`, 'utf8').catch(() => '0');
      nanoseconds += Number(used.split(' ', 1)[0]);
    }
    return nanoseconds / 1000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`);
    return true;
  } catch {
    return false;
  }
}

/** Runs a program of ours to its end, with `input`, and gives what it printed. */
export async function runProgram(args: readonly string[], input: string): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  child.stdin.end(input);
  const printed = await text(child.stdout);
  const [code] = await exited;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
  return printed;
}

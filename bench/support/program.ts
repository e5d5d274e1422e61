import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const START_MS = 20_000;
const STOP_MS = 10_000;

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A server of the bench in a process of its own, that takes `--port`; stopped when disposed of. */
export class ServerProgram implements AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.pid = child.pid ?? 0;
    this.#child = child;
  }

  /** Starts it and waits until it takes connections. */
  static async start(args: readonly string[], env: Record<string, string> = {}): Promise<ServerProgram> {
    const port = await freePort();
    const child = spawn(process.execPath, [...args, '--port', String(port)], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], ...env },
    });
    const deadline = performance.now() + START_MS;
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended with ${child.exitCode}`);
      if (performance.now() > deadline) throw new Error(`${args.join(' ')} does not answer`);
      await sleep(5);
    }
    return new ServerProgram(port, child);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
    clearTimeout(late);
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

/** Runs a program of the bench to its end, with `input` as JSON, and gives the JSON it printed. */
export async function runProgram<Result>(program: string, input: unknown): Promise<Result> {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  child.stdin.end(JSON.stringify(input));
  const printed = await text(child.stdout);
  const [code] = await exited;
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return JSON.parse(printed) as Result;
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * A server that the measured one talks to, as a program of its own: it prints its port, and ends with its standard
 * input when it is disposed of.
 */
export class Neighbour implements AsyncDisposable {
  readonly url: string;
  readonly #end: () => Promise<void>;

  private constructor(url: string, end: () => Promise<void>) {
    this.url = url;
    this.#end = end;
  }

  /** A git host whose token it is, and a model that never answers. */
  static start(): Promise<Neighbour> {
    return Neighbour.run('bench/programs/neighbour.ts');
  }

  static async run(...args: string[]): Promise<Neighbour> {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const [port] = await child.stdout.setEncoding('utf8').take(1).toArray();
    if (port === undefined) throw new Error(`${args[0]} did not start`);
    return new Neighbour(`http://127.0.0.1:${Number(port)}`, async () => {
      child.stdin.end();
      await exited;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end();
  }
}

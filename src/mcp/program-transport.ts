import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Program, Sandbox } from '../sandbox/sandbox.ts';
import type { Allowance } from './bounds.ts';
import type { Failure } from './failure.ts';
import type { ProgramServer } from './server.ts';

/** How much of the end of what a program wrote to its standard error is kept, in characters. */
const MAX_ERRORS = 2_000;

/**
 * Speaks to a program in the sandbox: one message a line. What it writes that is no message is passed over, as many
 * programs greet on their standard output.
 */
export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #server: ProgramServer;
  readonly #sandbox: Sandbox;
  readonly #allowance: Allowance;
  readonly #broken: (failure: Failure) => void;
  #program: Program | null = null;
  #closed = false;
  /** Of the line that is under way. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #errors = '';

  /** @param broken told once when the program ends by itself, or must be ended for what it says */
  constructor(
    server: ProgramServer,
    sandbox: Sandbox,
    allowance: Allowance,
    broken: (failure: Failure) => void,
  ) {
    this.#server = server;
    this.#sandbox = sandbox;
    this.#allowance = allowance;
    this.#broken = broken;
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#server;
    const program = await this.#sandbox.launch(
      { command, args, env },
      { onOutput: (chunk) => this.#heard(Buffer.from(chunk)), onErrors: (chunk) => this.#erred(chunk) },
    );
    this.#program = program;
    program.input.on('error', () => {});
    void this.#watch(program);
    // It was given up while it was being started.
    if (this.#closed) await program.close();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#program || this.#closed) throw new Error('the program does not run');
    this.#program.input.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
    await this.#program?.close();
  }

  async #watch(program: Program): Promise<void> {
    const { exitCode, lost } = await program.ended;
    if (lost === null) this.#break(ended(exitCode));
    else this.#break(`Its sandbox ended: ${lost}`, true);
  }

  #heard(chunk: Buffer): void {
    if (this.#closed) return;
    try {
      let from = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        this.#allowance.take(end - from, this.#bytes + end - from, 1);
        this.#line(Buffer.concat([...this.#pieces, chunk.subarray(from, end)]).toString('utf8'));
        this.#pieces = [];
        this.#bytes = 0;
        from = end + 1;
      }
      if (from === chunk.length) return;
      this.#pieces.push(chunk.subarray(from));
      this.#bytes += chunk.length - from;
      this.#allowance.take(chunk.length - from, this.#bytes, 0);
    } catch (error) {
      this.#break(error instanceof Error ? error.message : String(error));
      void this.close();
    }
  }

  #line(text: string): void {
    const message = messageOf(text);
    if (message) this.onmessage?.(message);
  }

  #erred(chunk: Uint8Array): void {
    this.#errors = (this.#errors + Buffer.from(chunk).toString('utf8')).slice(-MAX_ERRORS);
  }

  #break(reason: string, withSandbox = false): void {
    if (this.#closed) return;
    this.#broken({ reason, detail: this.#errors.trim(), withSandbox });
  }
}

/** Whether it is one, the protocol says: whoever gets it looks. */
function messageOf(text: string): JSONRPCMessage | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const isMessage = typeof parsed === 'object' && parsed !== null && 'jsonrpc' in parsed;
    return isMessage ? (parsed as JSONRPCMessage) : null;
  } catch {
    return null;
  }
}

function ended(exitCode: number | null): string {
  if (exitCode === 127) return 'Its program could not be found in the sandbox (exit code 127).';
  if (exitCode === 126) return 'Its program could not be run in the sandbox (exit code 126).';
  return exitCode === null ? 'Its program was killed.' : `Its program ended with exit code ${exitCode}.`;
}

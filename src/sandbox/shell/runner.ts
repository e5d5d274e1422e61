import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { openFifo } from './fifo.ts';
import { MarkScanner } from './mark.ts';
import type { Mark } from './mark.ts';
import type { ExchangeDirectory } from './run-directory.ts';

/** Takes output; while a promise it gave is open, no more is read. */
export type Sink = (chunk: Buffer) => void | Promise<void>;

/**
 * The service's side of one bash that runs one command. It is made ahead, with all its files open, so that a command
 * waits for neither. Afterwards its output is read on to the end and dropped, because closing it would end, by
 * SIGPIPE, the servers that the command has left in the background.
 */
export class Runner {
  readonly number: number;
  readonly nonce = randomBytes(16).toString('hex');
  readonly #directory: ExchangeDirectory;
  readonly #scanner = new MarkScanner(this.nonce);
  readonly #warm = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<Mark | null>();
  readonly #drained = Promise.withResolvers<void>();
  readonly #errorsRead = Promise.withResolvers<void>();
  readonly #forProgram: boolean;
  #opening: Promise<void> | null = null;
  #output: Socket | null = null;
  #errors: Socket | null = null;
  #command: Socket | null = null;
  #sink: Sink | null = null;
  #errorSink: Sink | null = null;
  #over = false;
  #pid: number | null = null;

  /** @param forProgram it is for a program beside the shell, and not for a command */
  constructor(number: number, directory: ExchangeDirectory, forProgram: boolean) {
    this.number = number;
    this.#directory = directory;
    this.#forProgram = forProgram;
    if (!forProgram) this.#errorsRead.resolve();
  }

  /** True once it can take a command, false when it ended before that. */
  get warm(): Promise<boolean> {
    return this.#warm.promise;
  }

  /** The command's end as its mark tells it; null when the output ended without one. */
  get ended(): Promise<Mark | null> {
    return this.#ended.promise;
  }

  /** Nothing can write to its output any more. */
  get drained(): Promise<void> {
    return this.#drained.promise;
  }

  /** All that it wrote to its standard error was given; for commands always so, as it comes with their output. */
  get errorsRead(): Promise<void> {
    return this.#errorsRead.promise;
  }

  /** It runs a command, whose output someone waits for. */
  get speaks(): boolean {
    return this.#sink !== null;
  }

  /** It has ended, with or without a command. */
  get over(): boolean {
    return this.#over;
  }

  /** The process that leads the command's group, as seen inside. */
  get pid(): number | null {
    return this.#pid;
  }

  /** The supervisor has made the FIFOs and waits for both to be opened. @throws when they are not what they should be */
  async opened(): Promise<void> {
    if (this.#over) return;
    this.#opening ??= this.#open();
    await this.#opening;
  }

  /** It waits for its command. That can be heard before we have seen our own opening of its FIFO succeed. */
  async warmed(pid: number): Promise<void> {
    if (this.#pid !== null) return;
    this.#pid = pid;
    await this.#opening?.catch(() => {});
    this.#warm.resolve(this.#command !== null);
  }

  async run(command: string, input: string | undefined, sink: Sink): Promise<void> {
    const to = this.#command;
    if (!to) throw new Error('the runner is not open');
    if (input !== undefined) await this.#directory.write(`${this.number}.in`, input);
    const bytes = Buffer.from(command);
    this.#sink = sink;
    to.write(`${input === undefined ? '-' : 'i'} ${bytes.length}\n`);
    to.write(bytes, () => to.destroy());
  }

  /** Begins a program; what it reads is what is written to the stream this gives, until that is ended. */
  begin(program: string, output: Sink, errors: Sink): Writable {
    const to = this.#command;
    if (!to) throw new Error('the runner is not open');
    this.#sink = output;
    this.#errorSink = errors;
    to.write('p 0\n');
    to.write(`${program}\0`);
    return to;
  }

  /** Lets go of everything, whatever it still does. Resolves when no file is open any more. */
  async abandon(): Promise<void> {
    await this.#opening?.catch(() => {});
    this.#command?.destroy();
    this.#output?.destroy();
    this.#errors?.destroy();
    this.#errorsRead.resolve();
    this.#finish(null);
    this.#drained.resolve();
  }

  async #open(): Promise<void> {
    const output = await openFifo(this.#directory.path(`${this.number}.out`), 'read');
    this.#output = output;
    output.on('data', (chunk: Buffer) => this.#read(chunk));
    output.on('error', () => output.destroy());
    output.on('close', () => this.#closed());
    if (this.#forProgram) await this.#openErrors();
    const command = await openFifo(this.#directory.path(`${this.number}.go`), 'write');
    command.on('error', () => command.destroy());
    // When its output has ended meanwhile, it is forgotten already, and nobody else would close this.
    if (this.#over) command.destroy();
    else this.#command = command;
  }

  async #openErrors(): Promise<void> {
    const errors = await openFifo(this.#directory.path(`${this.number}.err`), 'read');
    this.#errors = errors;
    errors.on('data', (chunk: Buffer) => void this.#errorSink?.(chunk));
    errors.on('error', () => errors.destroy());
    errors.on('close', () => this.#errorsRead.resolve());
  }

  #read(chunk: Buffer): void {
    if (this.#over) return;
    const { output, mark } = this.#scanner.push(chunk);
    if (output.length > 0) this.#give(output);
    if (mark) this.#finish(mark);
  }

  #give(chunk: Buffer): void {
    const taken = this.#sink?.(chunk);
    if (!taken) return;
    this.#output?.pause();
    const goOn = (): void => void this.#output?.resume();
    void taken.then(goOn, goOn);
  }

  #closed(): void {
    const held = this.#scanner.flush();
    if (!this.#over && held.length > 0) this.#give(held);
    this.#finish(null);
    this.#drained.resolve();
  }

  #finish(mark: Mark | null): void {
    this.#over = true;
    this.#sink = null;
    this.#command?.destroy();
    this.#warm.resolve(false);
    this.#ended.resolve(mark);
  }
}

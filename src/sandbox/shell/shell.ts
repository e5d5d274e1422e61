import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import { CappedOutput } from '../output.ts';
import type { CommandOutcome, ExecOptions, Program, ProgramOptions, ProgramSpec } from '../sandbox.ts';
import { Channel } from './channel.ts';
import { Heartbeat } from './heartbeat.ts';
import { Ladder } from './ladder.ts';
import type { SignalName } from './ladder.ts';
import { lastWords } from './last-words.ts';
import { commandOf, RunningProgram } from './program.ts';
import { ExchangeDirectory } from './run-directory.ts';
import type { Owner } from './run-directory.ts';
import type { Mark } from './mark.ts';
import type { Runner, Sink } from './runner.ts';
import { Runners } from './runners.ts';

/** A sandbox that runs `bash --norc --noprofile <run directory>/lib/supervisor.sh`, whatever stands around it. */
export interface ShellProcess {
  stdin: Writable;
  stdout: Readable;
  /** SIGKILL to the whole sandbox. */
  kill(): void;
  /** Resolves when all of it is gone, with what can be said of why; never rejects. */
  exited: Promise<{ reason: string }>;
}

export interface ShellOptions {
  /** The run directory on the host, made by `prepareRunDirectory` before the process was started. */
  directory: string;
  /** Whom the files belong to that the service makes for commands; null: to whoever the service is. */
  owner: Owner | null;
  process: ShellProcess;
  /** Most processes of the shell's user inside (`ulimit -u`); null sets none. */
  processes: number | null;
  /** Largest file a command can write (`ulimit -f`); null sets none. */
  fileBytes: number | null;
  /** Socket of the gateway as seen inside, which the supervisor relays to 127.0.0.1:3128; null: no relay. */
  gatewaySocket: string | null;
  /** What the names of the user's secrets stand for in programs beside the shell, which get none; null: for nothing. */
  hidden: Readonly<Record<string, string | null>>;
  /** Where the first command stands, as seen inside; while it does not exist: where the process was started. */
  workdir: string;
  /** Gives up the start. */
  signal: AbortSignal;
}

const START_MS = 15_000;
const END_MS = 2000;

/**
 * A shell that persists, though each command has a bash of its own: directory, variables, functions, aliases, shell
 * options and umask go from one command to the next by a file in the home (`.parley/shell`), so they survive the
 * sandbox too. Options of `set`, traps and job control do not persist. Of commands that run side by side, the last
 * to end leaves its state. The protocol is told in protocol.md beside this file.
 */
export class Shell {
  readonly #process: ShellProcess;
  readonly #exchange: ExchangeDirectory;
  readonly #channel: Channel;
  readonly #heartbeat: Heartbeat;
  readonly #runners: Runners;
  readonly #ready = Promise.withResolvers<void>();
  readonly #losing = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<{ reason: string }>();
  readonly #onSignalled = new Map<string, () => void>();
  readonly #hidden: ShellOptions['hidden'];
  #lostReason: string | null = null;
  #cwd: string;

  private constructor(options: ShellOptions, exchange: ExchangeDirectory) {
    this.#process = options.process;
    this.#exchange = exchange;
    this.#cwd = options.workdir;
    this.#hidden = options.hidden;
    const broken = (reason: string): void => this.#lose(reason);
    this.#channel = new Channel(options.process, (words) => this.#heard(words), broken);
    const send = (line: string): void => this.#channel.send(line);
    this.#runners = new Runners(exchange, send, broken);
    this.#heartbeat = new Heartbeat(
      () => send('chk'),
      () => broken('its shell stopped answering'),
    );
    void options.process.exited.then(({ reason }) => broken(reason));
  }

  /** @throws ServiceError `sandbox_unavailable` when the supervisor does not come up; the process is killed then */
  static async start(options: ShellOptions): Promise<Shell> {
    const shell = new Shell(options, await ExchangeDirectory.open(options.directory, options.owner));
    const kilobytes = options.fileBytes === null ? '' : Math.floor(options.fileBytes / 1024);
    for (const line of [options.processes ?? '', kilobytes, options.gatewaySocket ?? '', options.workdir]) {
      shell.#channel.send(String(line));
    }
    shell.#runners.prepareSpare();
    await shell.#comeUp(options.signal);
    return shell;
  }

  /** Resolves when the shell is gone for whatever reason, its process with it; never rejects. */
  get lost(): Promise<{ reason: string }> {
    return this.#lost.promise;
  }

  /** Runs one command; never throws for what the command does. Commands may run side by side. */
  async exec(command: string, options: ExecOptions): Promise<CommandOutcome> {
    if (command.includes('\0')) {
      return this.#outcome('exited', 2, 'bash: a command cannot contain a NUL byte; nothing was run\n');
    }
    if (this.#lostReason !== null) return this.#lostOutcome(null);
    let runner: Runner | null = null;
    const ladder = new Ladder(options.signal, (name) => this.#kill(runner, name));
    this.#heartbeat.begin();
    try {
      const taking = this.#runners.take();
      runner = await Promise.race([
        taking,
        ladder.begun.then(() => null),
        this.#losing.promise.then(() => null),
      ]);
      if (runner) return await this.#run(runner, ladder, command, options);
      void taking.then((late) => late && this.#runners.release(late));
      return ladder.cause === null ? await this.#lostOutcome(null) : this.#outcome(ladder.cause, -1, '');
    } finally {
      ladder.cancel();
      this.#heartbeat.end();
      this.#runners.prepareSpare();
    }
  }

  /** {@link Sandbox.launch} */
  async launch(program: ProgramSpec, { onOutput, onErrors }: ProgramOptions): Promise<Program> {
    const command = commandOf(program, this.#hidden);
    if (command.includes('\0')) throw new TypeError('The program, or a variable of it, has a NUL character.');
    const runner = this.#lostReason === null ? await this.#runners.take('program') : null;
    if (!runner) {
      const { reason } = await this.lost;
      throw new ServiceError('sandbox_unavailable', `The sandbox ended: ${reason}`);
    }
    const stop = new AbortController();
    const ladder = new Ladder(stop.signal, (name) => this.#kill(runner, name));
    const input = runner.begin(command, onOutput, onErrors);
    return new RunningProgram(input, this.#attend(runner, ladder), stop);
  }

  /** Kills the sandbox. What the shell keeps for the next one is on disk already. Idempotent. */
  async close(): Promise<void> {
    this.#lose('it was closed');
    await this.lost;
  }

  async #run(runner: Runner, ladder: Ladder, command: string, options: ExecOptions): Promise<CommandOutcome> {
    const output = new CappedOutput();
    const take: Sink = (chunk) => {
      output.push(chunk);
      return options.onOutput?.(chunk);
    };
    ladder.begin(options.timeoutMs);
    await runner.run(command, options.input, take).catch(() => this.#lose('its shell was tampered with'));
    const end = await this.#untilEnded(runner, ladder);
    if (end === 'lost') return this.#lostOutcome(output);
    if (end === null) await this.#lookWhetherLost();
    if (end === null && this.#lostReason !== null) return this.#lostOutcome(output);
    if (end?.cwd) this.#cwd = end.cwd;
    return this.#outcome(ladder.cause ?? 'exited', end?.exitCode ?? -1, output.text());
  }

  async #untilEnded(runner: Runner, ladder: Ladder): Promise<Mark | null | 'lost'> {
    const end = await Promise.race([
      runner.ended,
      ladder.exhausted,
      this.#losing.promise.then(() => 'lost' as const),
    ]);
    if (end === 'unstoppable') this.#lose('a command outlived every signal');
    if (end === 'unstoppable' || end === 'lost') return 'lost';
    if (ladder.cause !== null) await this.#sweep(runner);
    this.#runners.release(runner);
    return end;
  }

  /** No mark: its shell was killed from inside. Whether the sandbox was killed too is about to be known. */
  async #lookWhetherLost(): Promise<void> {
    this.#heartbeat.begin();
    await Promise.race([this.#heartbeat.answer(), this.#losing.promise]);
    this.#heartbeat.end();
  }

  async #attend(runner: Runner, ladder: Ladder): Program['ended'] {
    const end = await this.#untilEnded(runner, ladder);
    ladder.cancel();
    if (end === null) await this.#lookWhetherLost();
    if (end === 'lost' || this.#lostReason !== null)
      return { exitCode: null, lost: (await this.lost).reason };
    await lastWords([runner.errorsRead]);
    return { exitCode: end?.exitCode ?? null, lost: null };
  }

  /** Kills what of a stopped command is left when its shell has ended: background jobs ignore INT. */
  async #sweep(runner: Runner): Promise<void> {
    const done = Promise.withResolvers<void>();
    const key = `${runner.pid} KILL`;
    this.#onSignalled.set(key, done.resolve);
    this.#kill(runner, 'KILL');
    await Promise.race([done.promise, this.#losing.promise, delay(END_MS, undefined, { ref: false })]);
    this.#onSignalled.delete(key);
  }

  #kill(runner: Runner | null, name: SignalName): void {
    // The number comes from inside, and 1 would mean everyone.
    if (runner?.pid && runner.pid > 1) this.#channel.send(`sig ${runner.pid} ${name}`);
  }

  async #comeUp(signal: AbortSignal): Promise<void> {
    const tooLong = new AbortController();
    const timer = setTimeout(() => tooLong.abort(), START_MS);
    const stop = AbortSignal.any([signal, tooLong.signal]);
    const stopped = (): void =>
      this.#lose(signal.aborted ? 'its start was stopped' : 'its shell did not come up in time');
    stop.addEventListener('abort', stopped, { once: true });
    if (stop.aborted) stopped();
    await Promise.race([this.#ready.promise, this.#losing.promise]);
    clearTimeout(timer);
    stop.removeEventListener('abort', stopped);
    if (this.#lostReason === null) return;
    const { reason } = await this.lost;
    signal.throwIfAborted();
    throw new ServiceError('sandbox_unavailable', `The sandbox did not start: ${reason}`);
  }

  #heard([word, first, second]: readonly string[]): void {
    if (word === 'ready') this.#ready.resolve();
    if (word === 'fail') this.#lose('its files could not be made');
    if (word === 'made') this.#runners.made(Number(first));
    if (word === 'warm' && /^\d{1,9}$/.test(second ?? ''))
      this.#runners.warmed(Number(first), Number(second));
    if (word === 'sig') this.#onSignalled.get(`${first} ${second}`)?.();
    if (word === 'chk') this.#heartbeat.heard();
  }

  #outcome(kind: CommandOutcome['kind'], exitCode: number, output: string): CommandOutcome {
    return { kind, exitCode, output, cwd: this.#cwd };
  }

  /** Once nothing is left of the sandbox, and the last of its output is read. */
  async #lostOutcome(output: CappedOutput | null): Promise<CommandOutcome> {
    const { reason } = await this.lost;
    return { ...this.#outcome('lost', -1, output?.text() ?? ''), reason };
  }

  #lose(reason: string): void {
    if (this.#lostReason !== null) return;
    this.#lostReason = reason;
    this.#heartbeat.stop();
    this.#losing.resolve();
    this.#process.kill();
    void this.#bury(reason);
  }

  async #bury(reason: string): Promise<void> {
    await Promise.race([this.#process.exited, delay(END_MS, undefined, { ref: false })]);
    await this.#runners.close();
    await this.#exchange.close();
    this.#lost.resolve({ reason });
  }
}

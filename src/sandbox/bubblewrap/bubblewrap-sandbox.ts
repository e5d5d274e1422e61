import type {
  CommandOutcome,
  ExecOptions,
  Program,
  ProgramOptions,
  ProgramSpec,
  Sandbox,
} from '../sandbox.ts';
import type { Shell } from '../shell/shell.ts';
import type { WorkspaceFiles } from '../workspace-files.ts';
import type { Confined } from './confined.ts';

/** A conversation's sandbox: its processes, the shell in them, and what the service keeps for it outside. */
export class BubblewrapSandbox implements Sandbox {
  readonly root = '/workspace';
  readonly files: WorkspaceFiles;
  readonly ended: Promise<{ reason: string }>;
  readonly #confined: Confined;
  readonly #shell: Shell;

  /** `release` removes what stands outside once no process is left; it never rejects. */
  constructor(parts: {
    confined: Confined;
    shell: Shell;
    files: WorkspaceFiles;
    release: () => Promise<void>;
  }) {
    this.#confined = parts.confined;
    this.#shell = parts.shell;
    this.files = parts.files;
    // A shell that is lost, for whatever reason, has killed the process.
    this.ended = this.#confined.exited.then(async (end) => {
      const lost = await this.#shell.lost;
      await parts.release();
      return this.#confined.cause === null ? lost : end;
    });
  }

  async exec(command: string, options: ExecOptions): Promise<CommandOutcome> {
    const outcome = await this.#shell.exec(command, options);
    if (outcome.kind !== 'lost') return outcome;
    // The shell knows only that it is gone. Which limit was exceeded, the one who ended it knows.
    await this.ended;
    return this.#confined.cause === null ? outcome : { ...outcome, reason: this.#confined.cause };
  }

  launch(program: ProgramSpec, options: ProgramOptions): Promise<Program> {
    return this.#shell.launch(program, options);
  }

  async close(): Promise<void> {
    this.#confined.kill('It was closed.');
    await this.ended;
  }
}

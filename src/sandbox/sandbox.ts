import type { Writable } from 'node:stream';
import type { Secret } from '../secrets/secret.ts';
import type { GitFront } from './gateway/git-front.ts';
import type { WorkspaceFiles } from './workspace-files.ts';

/** What a sandbox may use, as a whole: all of its processes together. */
export interface SandboxLimits {
  memoryBytes: number;
  processes: number;
  /** CPU time per second of wall time: 2 is two full cores. */
  cpus: number;
  /** The workspace and the home together. */
  diskBytes: number;
}

export interface SandboxSpec {
  /** The conversation's number in the database. It picks the host uid, the run directory and the cgroup names. */
  key: number;
  /** Host directory that is `/workspace` inside. Made when missing; kept when the sandbox ends. */
  workspace: string;
  /** Host directory that is `/home/agent` inside, the shell's saved state included. Made when missing; kept. */
  home: string;
  /** Host directory beside them, not shown inside: files that the service writes wait there until they are whole. */
  drafts: string;
  /** `ReadOnlyAgent`: `/workspace` is mounted read-only. */
  readOnlyWorkspace: boolean;
  /** The directory the shell starts in, as seen inside (`/workspace/<repository name>`). */
  workdir: string;
  /** Custom secrets: variables of the shell. Nothing of the host's environment is ever added. */
  env: Readonly<Record<string, Secret>>;
  identity: { name: string; email: string };
  /** The repository this conversation may reach with a token; null without a repository. */
  git: GitFront | null;
  limits: SandboxLimits;
}

export interface ExecOptions {
  /** What the command reads on standard input; empty when not given. */
  input?: string;
  /** Milliseconds from its start until the command is interrupted (INT, then TERM, then KILL). */
  timeoutMs: number;
  /** Called with output as it comes, before it is cut or redacted. While a promise it gave is open, no more is read. */
  onOutput?: (chunk: Uint8Array) => void | Promise<void>;
  /** Stops the command (INT, TERM, KILL in quick steps); the outcome is `interrupted`. */
  signal: AbortSignal;
}

/** How a command ended. Every kind but `lost` leaves a shell that can go on. */
export interface CommandOutcome {
  /**
   * `exited`: by itself. `timed_out`, `interrupted`: it was signalled. `lost`: the shell or the sandbox died
   * (killed, out of memory, over its disk); `reason` says why, and the next command gets a fresh one.
   */
  kind: 'exited' | 'timed_out' | 'interrupted' | 'lost';
  /** The shell's exit code; 128+n after signal n; -1 when unknown. */
  exitCode: number;
  /** Standard output and error as they came, the middle cut out (and said) above the cap. */
  output: string;
  /** Where the shell stands afterwards, as seen inside. */
  cwd: string;
  reason?: string;
}

/** A program that runs beside the shell and is spoken to by its standard input and output, as a server of MCP is. */
export interface ProgramSpec {
  /** Looked up in the sandbox's PATH. */
  command: string;
  args: readonly string[];
  /** Its variables, beside those of the sandbox itself (PATH, HOME, the proxy). It gets no custom secrets. */
  env: Readonly<Record<string, Secret>>;
}

export interface ProgramOptions {
  /** Called with what it writes. While a promise it gave is open, no more is read. */
  onOutput: (chunk: Uint8Array) => void | Promise<void>;
  onErrors: (chunk: Uint8Array) => void;
}

export interface Program {
  /** Its standard input. */
  readonly input: Writable;
  /**
   * Resolves when it has ended by itself, was closed, or is gone with its sandbox; never rejects. `exitCode` is 128+n
   * after signal n, null when it is not known; `lost` says why its sandbox is gone, null when that is there.
   */
  readonly ended: Promise<{ exitCode: number | null; lost: string | null }>;
  /** Ends its input, then it with all below it: INT, TERM, KILL in quick steps. Idempotent. */
  close(): Promise<void>;
}

/** A place where commands run, with one persistent shell. Commands of one sandbox may run side by side. */
export interface Sandbox {
  /** Where the workspace is as its commands see it: `/workspace`; unconfined, the host's own path. */
  readonly root: string;
  exec(command: string, options: ExecOptions): Promise<CommandOutcome>;
  /**
   * Starts a program in the directory that the shell starts in; one that cannot be run ends at once. It never outlives
   * the sandbox.
   * @throws ServiceError `sandbox_unavailable` when the sandbox is gone
   */
  launch(program: ProgramSpec, options: ProgramOptions): Promise<Program>;
  /** The workspace, read and written by the service itself, by descriptor walk. */
  readonly files: WorkspaceFiles;
  /** Resolves when the sandbox is gone for whatever reason; never rejects. */
  readonly ended: Promise<{ reason: string }>;
  /** Kills every process in it and removes all but workspace and home. Idempotent. */
  close(): Promise<void>;
}

/** What the self-test at start found. Where `ok` is false no command is run, and `reason` is shown everywhere. */
export interface SandboxReport {
  kind: 'bubblewrap' | 'unconfined' | 'none';
  ok: boolean;
  /** One sentence a person can act on; empty when ok. */
  reason: string;
  /** Each check by name, for the log, `/ready` and `/server_info`: what was tried, whether it held, what was seen. */
  checks: readonly { name: string; ok: boolean; detail: string }[];
  /** By what means each limit is in force: cgroup v2, cgroup v1, rlimit, watchdog, none. */
  limits: Readonly<Record<'memory' | 'processes' | 'cpu' | 'disk', string>>;
}

/** Makes sandboxes of one kind. Each adapter passes test/conformance/sandbox.ts. */
export interface SandboxProvider {
  readonly report: SandboxReport;
  /** @throws ServiceError `sandbox_unavailable` when the report is not ok or the start fails. */
  open(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>;
  /** Removes a conversation's directories, whoever owns the files in them. The sandbox must be closed. */
  discard(spec: Pick<SandboxSpec, 'key' | 'workspace' | 'home'>): Promise<void>;
  /** Ends every sandbox and releases what the provider holds. */
  close(): Promise<void>;
}

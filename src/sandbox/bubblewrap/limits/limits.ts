import type { SandboxLimits } from '../../sandbox.ts';

/** What bounds one sandbox: all of its processes together. */
export interface Bounds {
  /** Files of the host that the launcher's pid is written to, so that it and all that follows it is counted. */
  readonly joinFiles: readonly string[];
  /** RLIMIT_DATA for each process where nothing bounds their sum at once; null where the sum is bounded. */
  readonly dataBytes: number | null;
  /** RLIMIT_NPROC inside the sandbox's user namespace, where nothing else counts its processes; else null. */
  readonly processes: number | null;
  /** How often `breach` must be asked, in milliseconds. */
  readonly pollMs: number;
  /** Tells how to find the outermost process, null once it has ended: without control groups, its tree is the members. */
  started(outermost: () => number | null): void;
  /** Every process in it, as host pids. */
  members(): Promise<number[]>;
  /** What was exceeded since the start, as a sentence a person can act on; null when nothing was. */
  breach(): Promise<string | null>;
  /** SIGKILL to all of it at once. */
  kill(): Promise<void>;
  /** After the last process has gone: leaves nothing behind. */
  remove(): Promise<void>;
}

/** One rung of the ladder: a way to bound sandboxes that this host allows. */
export interface LimitKeeper {
  readonly kinds: Readonly<Record<'memory' | 'processes' | 'cpu', string>>;
  /** Directories that a killed service would leave behind, for the next one to clean. */
  readonly leftovers: readonly string[];
  create(name: string, limits: SandboxLimits): Promise<Bounds>;
  close(): Promise<void>;
}

export function memoryBreach(bytes: number): string {
  return (
    `The commands used more memory than the ${size(bytes)} this sandbox may use, so all of them were stopped together. ` +
    'Do less at once (fewer parallel jobs, smaller inputs) or have the limit raised.'
  );
}

export function size(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(1))} ${units[unit] ?? ''}`;
}

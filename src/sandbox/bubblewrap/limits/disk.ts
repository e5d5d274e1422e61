import { opendir, readdir, stat, statfs } from 'node:fs/promises';
import { runProgram, type Ended } from '../programs.ts';
import { size } from './limits.ts';

/** Free space is asked for this often; it costs microseconds. */
const GLANCE_MS = 200;
/** Files are counted at least this often, as others' deletions can hide what a sandbox writes. */
const COUNT_EVERY_MS = 10_000;
/** A directory of a million files takes seconds to count: at most a quarter of the time goes into counting. */
const REST_FACTOR = 3;
const LONGEST_COUNT_MS = 5 * 60_000;
/**
 * Where the limit is already exceeded at the start nobody could clean up inside without some room: so far above the
 * limit, however often it starts, and beyond that what a shell needs for itself.
 */
const ROOM_TO_CLEAN_UP = 8 * 1024 ** 2;
const ROOM_FOR_SHELL = 256 * 1024;
/** Empty files take no blocks, but each takes an inode that the host may run out of. */
const BYTES_PER_FILE = 4096;
/** The run directory lies on a file system of the host's own, often a small one in memory; a shell needs kilobytes. */
const MOST_IN_RUN = 256 * 1024 ** 2;

export interface Watched {
  workspace: string;
  home: string;
  /** What the shell and the service share; null without a shell. */
  run: string | null;
}

/**
 * Watches what a sandbox takes on the disk, wherever it may write. The kernel offers no bound for a directory that
 * works on every file system, so this one looks: quickly at the free space, and into the directories when that has
 * gone down enough.
 */
export class DiskWatch {
  readonly #directories: readonly string[];
  /** Those that a conversation keeps. */
  readonly #kept: readonly string[];
  readonly #run: string | null;
  readonly #limit: number;
  readonly #members: () => Promise<number[]>;
  #ceiling: number | null = null;
  #used = 0;
  #usedInRun = 0;
  #free: readonly Free[] = [];
  #nextCount = 0;
  #countAtLatest = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor({ workspace, home, run }: Watched, limitBytes: number, members: () => Promise<number[]>) {
    this.#kept = [workspace, home];
    this.#directories = run === null ? this.#kept : [...this.#kept, run];
    this.#run = run;
    this.#limit = limitBytes;
    this.#members = members;
  }

  /** Calls `onBreach` once, with a sentence a person can act on. */
  start(onBreach: (reason: string) => void): void {
    const look = async (): Promise<void> => {
      const breach = await this.#breach().catch(() => null);
      if (this.#stopped) return;
      if (breach === null) this.#timer = setTimeout(() => void look(), GLANCE_MS).unref();
      else onBreach(breach);
    };
    void look();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #breach(): Promise<string | null> {
    const free = await Promise.all(this.#directories.map(freeSpace));
    const now = performance.now();
    if (this.#ceiling !== null) {
      const more = shrunk(this.#free, free);
      const suspect = this.#used + more > this.#ceiling || this.#usedInRun + more > MOST_IN_RUN;
      if (now < this.#nextCount || (!suspect && now < this.#countAtLatest)) return null;
    }
    const counted =
      this.#ceiling === null && (await areEmpty(this.#kept)) ? NOTHING : await countBytes(this.#directories);
    if (counted === null) return uncountable(this.#limit);
    this.#usedInRun = counted.get(this.#run ?? '') ?? 0;
    this.#used =
      (counted.get('total') ?? 0) + (await unlinkedBytes(await this.#members(), this.#directories));
    this.#free = free;
    const took = performance.now() - now;
    this.#nextCount = performance.now() + took * REST_FACTOR;
    this.#countAtLatest = performance.now() + COUNT_EVERY_MS;
    this.#ceiling ??= ceilingOver(this.#limit, this.#used);
    if (this.#usedInRun > MOST_IN_RUN) return runBreach(this.#usedInRun);
    return this.#used > this.#ceiling ? diskBreach(this.#used, this.#limit) : null;
  }
}

/** What may be taken until the sandbox ends, when so much is taken at its start. */
export function ceilingOver(limit: number, used: number): number {
  if (used <= limit) return limit;
  return Math.max(limit + ROOM_TO_CLEAN_UP, used + ROOM_FOR_SHELL);
}

function diskBreach(used: number, limit: number): string {
  return (
    `The workspace and home take ${size(used)} of disk, more than the ${size(limit)} they may take, ` +
    'so all commands were stopped. Remove files that are not needed, or have the limit raised.'
  );
}

function runBreach(used: number): string {
  return (
    `/run/agent takes ${size(used)}, more than the ${size(MOST_IN_RUN)} it may take, so all commands were stopped. ` +
    'It is no place for files: use /workspace, the home or /tmp.'
  );
}

function uncountable(limit: number): string {
  return (
    'The files of workspace and home are so many that they could not be counted, so all commands were stopped: ' +
    `at most ${size(limit)} of disk may be taken. Remove files that are not needed.`
  );
}

interface Free {
  bytes: number;
  files: number;
}

async function freeSpace(directory: string): Promise<Free> {
  const { bavail, bsize, ffree } = await statfs(directory);
  return { bytes: bavail * bsize, files: ffree };
}

function shrunk(before: readonly Free[], after: readonly Free[]): number {
  const drops = after.map((now, at) => {
    const then = before[at] ?? now;
    return Math.max(then.bytes - now.bytes, (then.files - now.files) * BYTES_PER_FILE);
  });
  return Math.max(0, ...drops);
}

/** Of a new conversation nothing has to be counted: two programs less, just when the sandbox starts. */
const NOTHING: ReadonlyMap<string, number> = new Map();

async function areEmpty(directories: readonly string[]): Promise<boolean> {
  for (const path of directories) {
    await using directory = await opendir(path);
    if ((await directory.read()) !== null) return false;
  }
  return true;
}

/** Bytes by directory, and their sum as `total`; null when it took too long. */
async function countBytes(directories: readonly string[]): Promise<ReadonlyMap<string, number> | null> {
  const [bytes, files] = await Promise.all([
    count('--block-size=1', directories),
    count('--inodes', directories),
  ]);
  if (bytes === null || files === null) return null;
  return new Map(
    [...bytes].map(([name, taken]) => [name, Math.max(taken, (files.get(name) ?? 0) * BYTES_PER_FILE)]),
  );
}

async function count(unit: string, directories: readonly string[]): Promise<Map<string, number> | null> {
  const measure = (): Promise<Ended> =>
    runProgram('nice', ['du', '-sxc', unit, '--', ...directories], LONGEST_COUNT_MS);
  let { stdout, stderr } = await measure();
  if (stderr.includes('cannot read directory')) {
    // Only without root: a directory that its owner made unreadable would hide what is in it.
    await runProgram('chmod', ['-R', 'u+rX', '--', ...directories], LONGEST_COUNT_MS);
    ({ stdout } = await measure());
  }
  const lines = stdout.matchAll(/^(\d+)\t(.*)$/gm);
  const counts = new Map([...lines].map(([, number, name = '']) => [name, Number(number)] as const));
  // Without the last line it was stopped. What vanishes while it counts is only complained about.
  return counts.has('total') ? counts : null;
}

/** A file that was removed while a process holds it open is in no directory, but still on the disk. */
async function unlinkedBytes(pids: readonly number[], directories: readonly string[]): Promise<number> {
  const devices = new Set(
    await Promise.all(directories.map(async (directory) => (await stat(directory)).dev)),
  );
  const found = new Map<string, number>();
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null);
      if (file === null || !file.isFile() || file.nlink > 0 || !devices.has(file.dev)) continue;
      found.set(`${file.dev}:${file.ino}`, file.blocks * 512);
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

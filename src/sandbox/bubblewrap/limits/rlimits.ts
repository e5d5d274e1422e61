import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import type { SandboxLimits } from '../../sandbox.ts';
import { memoryBreach, type Bounds, type LimitKeeper } from './limits.ts';
import { killAll, processTree } from './process-tree.ts';

/** As getpagesize(2) of every machine that a filter is known for; arm64 with larger pages counts too little. */
const PAGE_BYTES = 4096;
/** Files in memory are looked for this often: a process may have thousands of files open. */
const FILES_EVERY_MS = 1_000;
/** Node 24 reserves a gigabyte of data before it runs anything. */
const LEAST_DATA = 2 * 1024 ** 3;

/**
 * The last rung, for hosts that hand out no control groups: RLIMIT_NPROC counts per user namespace (kernel 5.14 and
 * newer), RLIMIT_DATA bounds each process, and the sum of memory is watched and the whole sandbox ended above it.
 */
export function rlimits(): LimitKeeper {
  return {
    kinds: { memory: 'watchdog', processes: 'rlimit', cpu: 'none' },
    leftovers: [],
    create: async (_name, limits) => new WatchedBounds(limits),
    async close() {},
  };
}

class WatchedBounds implements Bounds {
  readonly joinFiles = [];
  readonly dataBytes: number;
  readonly processes: number;
  readonly pollMs = 150;
  readonly #memoryBytes: number;
  #outermost: () => number | null = () => null;
  #inFiles = 0;
  #nextFiles = 0;

  constructor(limits: SandboxLimits) {
    this.dataBytes = Math.max(limits.memoryBytes, LEAST_DATA);
    this.processes = limits.processes;
    this.#memoryBytes = limits.memoryBytes;
  }

  started(outermost: () => number | null): void {
    this.#outermost = outermost;
  }

  async members(): Promise<number[]> {
    const root = this.#outermost();
    return root === null ? [] : await processTree(root);
  }

  async breach(): Promise<string | null> {
    const pids = await this.members();
    void this.#lookAtFiles(pids);
    let total = 0;
    let shared = 0;
    for (const pid of pids) {
      const held = await mappedBytes(pid);
      total += held.bytes;
      shared += held.shared;
    }
    // What is mapped may be these very files.
    total += Math.max(0, this.#inFiles - shared);
    return total > this.#memoryBytes ? memoryBreach(this.#memoryBytes) : null;
  }

  /** Not waited for: many open files would hold up the look at what is mapped. */
  async #lookAtFiles(pids: readonly number[]): Promise<void> {
    if (performance.now() < this.#nextFiles) return;
    this.#nextFiles = Number.POSITIVE_INFINITY;
    this.#inFiles = await bytesInFiles(pids);
    this.#nextFiles = performance.now() + FILES_EVERY_MS;
  }

  async kill(): Promise<void> {
    killAll(await this.members());
  }

  async remove(): Promise<void> {
    // Nothing is kept on the host.
  }
}

/**
 * Pss: pages that processes share count once over all of them, so a sum of it is what they really hold. A process can
 * have that hidden from its own user (PR_SET_DUMPABLE); then each page that it has counts, which nothing hides.
 */
async function mappedBytes(pid: number): Promise<{ bytes: number; shared: number }> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => null);
  if (text !== null)
    return { bytes: kilobytes(text, 'Pss') * 1024, shared: kilobytes(text, 'Pss_Shmem') * 1024 };
  const [, pages] = (await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '')).split(' ');
  return { bytes: Number(pages ?? 0) * PAGE_BYTES, shared: 0 };
}

function kilobytes(rollup: string, name: string): number {
  return Number(new RegExp(String.raw`^${name}:\s+(\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);
}

/** Files that are in memory alone (memfd_create(2)), which count as no process' own while none has them mapped. */
async function bytesInFiles(pids: readonly number[]): Promise<number> {
  const found = new Map<string, number>();
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const path = `/proc/${pid}/fd/${fd}`;
      if (!(await readlink(path).catch(() => '')).startsWith('/memfd:')) continue;
      const file = await stat(path).catch(() => null);
      if (file) found.set(`${file.dev}:${file.ino}`, file.blocks * 512);
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

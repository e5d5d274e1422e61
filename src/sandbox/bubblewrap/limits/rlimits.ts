import { readFile } from 'node:fs/promises';
import type { SandboxLimits } from '../../sandbox.ts';
import { memoryBreach, type Bounds, type LimitKeeper } from './limits.ts';
import { killAll, processTree } from './process-tree.ts';

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
    let total = 0;
    for (const pid of await this.members()) total += await proportionalBytes(pid);
    return total > this.#memoryBytes ? memoryBreach(this.#memoryBytes) : null;
  }

  async kill(): Promise<void> {
    killAll(await this.members());
  }

  async remove(): Promise<void> {
    // Nothing is kept on the host.
  }
}

/** Pss: pages that processes share count once over all of them, so a sum of it is what they really hold. */
async function proportionalBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}

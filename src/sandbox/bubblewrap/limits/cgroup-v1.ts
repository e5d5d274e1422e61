import { closeSync, openSync, readSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxLimits } from '../../sandbox.ts';
import { codeOf, killAndRemove, membersOf, removeBase, type Hierarchy } from './cgroup-files.ts';
import { memoryBreach, type Bounds, type LimitKeeper } from './limits.ts';
import { killAll } from './process-tree.ts';

const PERIOD_US = 100_000;

/**
 * Control groups version 1 (kernel `Documentation/admin-guide/cgroup-v1`): one directory per controller. Null when
 * the host has no memory and pids controller that this process may make groups in.
 */
export async function cgroupV1(
  hierarchies: ReadonlyMap<string, Hierarchy>,
  serviceName: string,
): Promise<LimitKeeper | null> {
  const memory = await makeBase(hierarchies.get('memory'), serviceName);
  const pids = await makeBase(hierarchies.get('pids'), serviceName);
  const cpu = await makeBase(hierarchies.get('cpu'), serviceName);
  const bases = [memory, pids, cpu].filter((base) => base !== null);
  if (memory === null || pids === null) {
    await Promise.all(bases.map(removeBase));
    return null;
  }
  return {
    kinds: { memory: 'cgroup v1', processes: 'cgroup v1', cpu: cpu === null ? 'none' : 'cgroup v1' },
    leftovers: bases,
    create: (name, limits) => CgroupV1Bounds.create({ memory, pids, cpu }, name, limits),
    async close() {
      await Promise.all(bases.map(removeBase));
    },
  };
}

async function makeBase(hierarchy: Hierarchy | undefined, serviceName: string): Promise<string | null> {
  if (hierarchy === undefined) return null;
  const base = join(hierarchy.own, serviceName);
  try {
    await mkdir(base, { recursive: true });
    return base;
  } catch {
    return null;
  }
}

class CgroupV1Bounds implements Bounds {
  readonly joinFiles: readonly string[];
  readonly dataBytes = null;
  readonly processes = null;
  // What is over the limit sleeps until it is seen.
  readonly pollMs = 25;
  readonly #memory: string;
  readonly #groups: readonly string[];
  readonly #memoryBytes: number;
  readonly #scratch = Buffer.alloc(256);
  #oomControl: number | null;

  private constructor(memory: string, groups: readonly string[], memoryBytes: number, oomControl: number) {
    this.joinFiles = groups.map((group) => join(group, 'cgroup.procs'));
    this.#memory = memory;
    this.#groups = groups;
    this.#memoryBytes = memoryBytes;
    this.#oomControl = oomControl;
  }

  static async create(
    bases: { memory: string; pids: string; cpu: string | null },
    name: string,
    limits: SandboxLimits,
  ): Promise<CgroupV1Bounds> {
    const memory = join(bases.memory, name);
    const pids = join(bases.pids, name);
    const cpu = bases.cpu === null ? null : join(bases.cpu, name);
    const groups = [memory, pids, ...(cpu === null ? [] : [cpu])];
    // A group of that name can only be one whose processes were killed and which the kernel still held.
    await Promise.all(groups.map(killAndRemove));
    await Promise.all(groups.map((group) => mkdir(group)));
    await Promise.all([
      limitMemory(memory, limits.memoryBytes),
      writeFile(join(pids, 'pids.max'), String(limits.processes)),
      cpu === null ? undefined : limitCpu(cpu, limits.cpus),
    ]);
    return new CgroupV1Bounds(
      memory,
      groups,
      limits.memoryBytes,
      openSync(join(memory, 'memory.oom_control'), 'r'),
    );
  }

  started(): void {
    // The launcher joined by itself.
  }

  async members(): Promise<number[]> {
    return await membersOf(this.#memory);
  }

  async breach(): Promise<string | null> {
    if (this.#oomControl === null) return null;
    // Read on the spot: a few microseconds of kernel text, many times a second, for every open sandbox.
    const length = readSync(this.#oomControl, this.#scratch, 0, this.#scratch.length, 0);
    const text = this.#scratch.toString('latin1', 0, length);
    return /^under_oom 1$|^oom_kill [1-9]/m.test(text) ? memoryBreach(this.#memoryBytes) : null;
  }

  async kill(): Promise<void> {
    killAll(await this.members());
  }

  async remove(): Promise<void> {
    if (this.#oomControl !== null) closeSync(this.#oomControl);
    this.#oomControl = null;
    await Promise.all(this.#groups.map(killAndRemove));
  }
}

async function limitMemory(group: string, bytes: number): Promise<void> {
  await writeFile(join(group, 'memory.limit_in_bytes'), String(bytes));
  // Absent without swap accounting; then swap is not counted, which only a host that swaps notices.
  await writeIfThere(join(group, 'memory.memsw.limit_in_bytes'), String(bytes));
  // With the kernel's killer off, what exceeds the limit sleeps until the service has seen it and ends the whole
  // sandbox; else the kernel would pick off one process after the other. Deprecated: where it is gone, the
  // count of kills in the same file tells.
  await writeIfThere(join(group, 'memory.oom_control'), '1');
}

async function limitCpu(group: string, cpus: number): Promise<void> {
  await writeFile(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
  await writeFile(join(group, 'cpu.cfs_quota_us'), String(Math.max(1000, Math.round(cpus * PERIOD_US))));
}

async function writeIfThere(path: string, text: string): Promise<void> {
  try {
    await readFile(path);
    await writeFile(path, text);
  } catch (error) {
    if (!['ENOENT', 'EOPNOTSUPP', 'EINVAL'].includes(codeOf(error) ?? '')) throw error;
  }
}

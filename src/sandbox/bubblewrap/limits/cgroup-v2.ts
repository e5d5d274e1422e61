import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SandboxLimits } from '../../sandbox.ts';
import { codeOf, killAndRemove, membersOf, removeBase, type Hierarchy } from './cgroup-files.ts';
import { memoryBreach, type Bounds, type LimitKeeper } from './limits.ts';
import { killAll } from './process-tree.ts';

const PERIOD_US = 100_000;
const NEEDED = ['memory', 'pids'];
const WANTED = [...NEEDED, 'cpu'];

/**
 * Control groups version 2 (kernel `Documentation/admin-guide/cgroup-v2.rst`). Null when no directory is to be had
 * whose children get the memory and pids controllers.
 */
export async function cgroupV2(
  hierarchy: Hierarchy | undefined,
  serviceName: string,
): Promise<LimitKeeper | null> {
  if (hierarchy === undefined) return null;
  for (const parent of upTo(hierarchy)) {
    // Only out of a group that is this service's alone may all processes be moved, never out of a login's.
    const mayMove = parent === hierarchy.own && (parent === hierarchy.mount || parent.endsWith('.service'));
    const base = await makeBase(parent, serviceName, mayMove);
    if (base === null) continue;
    return {
      kinds: {
        memory: 'cgroup v2',
        processes: 'cgroup v2',
        cpu: base.controllers.has('cpu') ? 'cgroup v2' : 'none',
      },
      leftovers: [base.path],
      create: (name, limits) => CgroupV2Bounds.create(base.path, base.controllers, name, limits),
      close: () => removeBase(base.path),
    };
  }
  return null;
}

/**
 * The own group first: a service manager that delegated it also bounds the service as a whole there. Then the groups
 * above: a user's own manager lets its user make groups beside the one that a login's processes are in.
 */
function upTo({ own, mount }: Hierarchy): string[] {
  const found = [own];
  for (let at = own; at !== mount && at !== '/';) {
    at = dirname(at);
    found.push(at);
  }
  return found;
}

async function makeBase(
  parent: string,
  serviceName: string,
  mayMove: boolean,
): Promise<{ path: string; controllers: ReadonlySet<string> } | null> {
  const path = join(parent, serviceName);
  try {
    const available = await words(join(parent, 'cgroup.controllers'));
    if (!NEEDED.every((controller) => available.has(controller))) return null;
    await mkdir(path, { recursive: true });
    await enable(parent, available, mayMove);
    await enable(path, await words(join(path, 'cgroup.controllers')), false);
    const controllers = await words(join(path, 'cgroup.subtree_control'));
    if (NEEDED.every((controller) => controllers.has(controller))) return { path, controllers };
  } catch {
    // Not ours to change: read-only in most containers, owned by root for ordinary users.
  }
  await killAndRemove(path).catch(() => undefined);
  return null;
}

/** Hands the controllers on to the children of `group`. */
async function enable(group: string, available: ReadonlySet<string>, mayMove: boolean): Promise<void> {
  const control = join(group, 'cgroup.subtree_control');
  const already = await words(control);
  const missing = WANTED.filter((controller) => available.has(controller) && !already.has(controller));
  if (missing.length === 0) return;
  const text = missing.map((controller) => `+${controller}`).join(' ');
  try {
    await writeFile(control, text);
  } catch (error) {
    if (codeOf(error) !== 'EBUSY' || !mayMove) throw error;
    // A group with processes of its own may not hand controllers on: they move into a leaf beside the sandboxes.
    const leaf = join(group, 'parley-service');
    await mkdir(leaf, { recursive: true });
    for (const pid of await membersOf(group)) await writeFile(join(leaf, 'cgroup.procs'), String(pid));
    await writeFile(control, text);
  }
}

async function words(path: string): Promise<Set<string>> {
  return new Set((await readFile(path, 'utf8')).split(/\s+/).filter(Boolean));
}

class CgroupV2Bounds implements Bounds {
  readonly joinFiles: readonly string[];
  readonly dataBytes = null;
  readonly processes = null;
  // The kernel ends the group by itself; asking only finds the reason.
  readonly pollMs = 1000;
  readonly #group: string;
  readonly #memoryBytes: number;

  private constructor(group: string, memoryBytes: number) {
    this.joinFiles = [join(group, 'cgroup.procs')];
    this.#group = group;
    this.#memoryBytes = memoryBytes;
  }

  static async create(
    base: string,
    controllers: ReadonlySet<string>,
    name: string,
    limits: SandboxLimits,
  ): Promise<CgroupV2Bounds> {
    const group = join(base, name);
    await killAndRemove(group);
    await mkdir(group);
    const settings: [string, string][] = [
      ['memory.max', String(limits.memoryBytes)],
      // The kernel then ends all of the group together.
      ['memory.oom.group', '1'],
      ['pids.max', String(limits.processes)],
    ];
    if (controllers.has('cpu')) {
      settings.push(['cpu.max', `${Math.max(1000, Math.round(limits.cpus * PERIOD_US))} ${PERIOD_US}`]);
    }
    await Promise.all(settings.map(([file, value]) => writeFile(join(group, file), value)));
    await writeFile(join(group, 'memory.swap.max'), '0').catch((error: unknown) => {
      // Absent on kernels without swap.
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    return new CgroupV2Bounds(group, limits.memoryBytes);
  }

  started(): void {
    // The launcher joined by itself.
  }

  async members(): Promise<number[]> {
    return await membersOf(this.#group);
  }

  async breach(): Promise<string | null> {
    const events = await readFile(join(this.#group, 'memory.events'), 'utf8').catch(() => '');
    return /^oom_kill [1-9]/m.test(events) ? memoryBreach(this.#memoryBytes) : null;
  }

  async kill(): Promise<void> {
    try {
      await writeFile(join(this.#group, 'cgroup.kill'), '1');
    } catch {
      // Before kernel 5.14 there is no such file: one by one.
      killAll(await this.members());
    }
  }

  async remove(): Promise<void> {
    await killAndRemove(this.#group);
  }
}

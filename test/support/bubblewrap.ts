import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandOutcome, Sandbox, SandboxProvider, SandboxSpec } from '../../src/sandbox/sandbox.ts';
import type { BubblewrapOptions } from '../../src/sandbox/bubblewrap/options.ts';
import { openBubblewrap } from '../../src/sandbox/bubblewrap/provider.ts';

export const never = new AbortController().signal;
export const isRoot = process.getuid?.() === 0;
const MIB = 1024 ** 2;

/** A provider on directories of its own, and all that a test asks of it. */
export interface Bench extends AsyncDisposable {
  provider: SandboxProvider;
  runDir: string;
  data: string;
  spec(key: number, more?: Partial<SandboxSpec>): SandboxSpec;
  open(key: number, more?: Partial<SandboxSpec>): Promise<Sandbox>;
  /** Opens, runs one command, closes. */
  once(command: string, more?: Partial<SandboxSpec>): Promise<CommandOutcome>;
}

export async function startBench(more: Partial<BubblewrapOptions> = {}): Promise<Bench> {
  const top = await mkdtemp(join(tmpdir(), 'parley-bw-'));
  await chmod(top, 0o711);
  const [runDir, data] = [join(top, 'run'), join(top, 'data')];
  const provider = await openBubblewrap(benchOptions(runDir, more));
  // A test that cannot run here is red, with the reason in the output.
  if (!provider.report.ok) throw new Error(provider.report.reason);
  const spec = (key: number, changed: Partial<SandboxSpec> = {}): SandboxSpec => ({
    key,
    workspace: join(data, String(key), 'workspace'),
    home: join(data, String(key), 'home'),
    drafts: join(data, 'drafts'),
    readOnlyWorkspace: false,
    workdir: '/workspace',
    env: {},
    identity: { name: 'Ann', email: 'ann@example.org' },
    git: null,
    limits: { memoryBytes: 256 * MIB, processes: 64, cpus: 2, diskBytes: 64 * MIB },
    ...changed,
  });
  const open = (key: number, changed?: Partial<SandboxSpec>): Promise<Sandbox> =>
    provider.open(spec(key, changed), never);
  return {
    provider,
    runDir,
    data,
    spec,
    open,
    async once(command, changed) {
      const sandbox = await open(1, changed);
      const outcome = await run(sandbox, command);
      await sandbox.close();
      return outcome;
    },
    async [Symbol.asyncDispose]() {
      await provider.close();
      await rm(top, { recursive: true, force: true });
    },
  };
}

export function benchOptions(runDir: string, more: Partial<BubblewrapOptions> = {}): BubblewrapOptions {
  return {
    runDir,
    workspaces: null,
    // Test files run side by side: each its own range.
    uidBase: 1_000_000_000 + (process.pid % 1_000_000) * 1000,
    extraReadOnlyPaths: [],
    caFile: null,
    startGateway: async () => ({ close: async () => undefined }),
    gitConfig: () => '',
    log: () => undefined,
    ...more,
  };
}

export async function run(sandbox: Sandbox, command: string, timeoutMs = 120_000): Promise<CommandOutcome> {
  return await sandbox.exec(command, { timeoutMs, signal: never });
}

/** Processes of the host that see `text` in their mounts. */
export async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const seen = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')),
  );
  return pids.filter((_, at) => seen[at]?.includes(text));
}

/** Directories of control groups whose name begins with `name`, wherever they are mounted. */
export async function groupsNamed(name: string): Promise<string[]> {
  const found = await readdir('/sys/fs/cgroup', { recursive: true }).catch(() => []);
  return found.filter((path) => path.split('/').some((part) => part.startsWith(name)));
}

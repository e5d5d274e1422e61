import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../errors.ts';
import { unavailable } from '../unavailable.ts';
import type { Sandbox, SandboxProvider, SandboxReport, SandboxSpec } from '../sandbox.ts';
import type { Ground } from './confine.ts';
import { removeTree } from './directories.ts';
import { inspectHost } from './host.ts';
import { Instance } from './instance.ts';
import { findLimitKeeper } from './limits/ladder.ts';
import { makeSharedFiles } from './made-files.ts';
import { openSandbox } from './open-sandbox.ts';
import type { BubblewrapOptions } from './options.ts';
import { selfTest } from './self-test.ts';

/** Where `uidBase + KEY` ends: above are the kernel's overflow and "no such" ids. */
const MOST_UID = 2 ** 32 - 3;

/**
 * Sandboxes by bubblewrap. Never rejects: where this host does not do, or the test in a throw-away sandbox fails, the
 * provider's report says why and its `open` throws. Call it from the main thread, see `launch`.
 */
export async function openBubblewrap(options: BubblewrapOptions): Promise<SandboxProvider> {
  const found = await inspectHost();
  if (!found.ok) return unavailable('bubblewrap', found.reason);
  let instance: Instance;
  try {
    instance = await Instance.open(options.runDir);
  } catch (error) {
    return unavailable('bubblewrap', `The sandboxes' run directory cannot be used: ${messageOf(error)}.`);
  }
  try {
    return await Bubblewrap.start(found.host, instance, options);
  } catch (error) {
    await instance.close().catch(() => undefined);
    return unavailable('bubblewrap', `Sandboxes cannot be made here: ${messageOf(error)}.`);
  }
}

class Bubblewrap implements SandboxProvider {
  readonly report: SandboxReport;
  readonly #ground: Ground;
  readonly #options: BubblewrapOptions;
  readonly #open = new Map<number, Promise<Sandbox>>();
  #closed = false;

  private constructor(report: SandboxReport, ground: Ground, options: BubblewrapOptions) {
    this.report = report;
    this.#ground = ground;
    this.#options = options;
  }

  static async start(
    host: Ground['host'],
    instance: Instance,
    options: BubblewrapOptions,
  ): Promise<Bubblewrap> {
    const keeper = await findLimitKeeper(instance.name);
    await instance.record(keeper.leftovers);
    const isRoot = process.getuid?.() === 0;
    const ground: Ground = {
      host,
      instance,
      keeper,
      sharedFiles: await makeSharedFiles(join(instance.directory, 'etc'), options.caFile),
      extraReadOnlyPaths: options.extraReadOnlyPaths,
      userOf: (key) => (isRoot ? idsOf(options.uidBase, key) : null),
    };
    const { ok, reason, checks } = await selfTest(ground, options.workspaces);
    const disk = 'watchdog (free space, du), ulimit -f for one file';
    const report: SandboxReport = {
      kind: 'bubblewrap',
      ok,
      reason,
      checks,
      limits: { ...keeper.kinds, disk },
    };
    return new Bubblewrap(report, ground, options);
  }

  async open(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    if (!this.report.ok) throw new ServiceError('sandbox_unavailable', this.report.reason);
    if (this.#closed)
      throw new ServiceError('shutting_down', 'The service is stopping: no new sandbox is opened.');
    signal.throwIfAborted();
    const before = this.#open.get(spec.key);
    const opening = this.#openAfter(before, spec, signal);
    this.#open.set(spec.key, opening);
    const forget = (): void => {
      if (this.#open.get(spec.key) === opening) this.#open.delete(spec.key);
    };
    void opening.then((sandbox) => sandbox.ended).then(forget, forget);
    return await opening;
  }

  async discard({ key, workspace, home }: Pick<SandboxSpec, 'key' | 'workspace' | 'home'>): Promise<void> {
    await this.#end(key);
    await removeTree(workspace);
    await removeTree(home);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open.keys()].map((key) => this.#end(key)));
    await this.#ground.keeper.close();
    await this.#ground.instance.close();
  }

  /** One conversation has one sandbox: names, uid and directories are made from its number. */
  async #openAfter(
    before: Promise<Sandbox> | undefined,
    spec: SandboxSpec,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    await closeQuietly(before);
    await this.#restore();
    return await openSandbox(this.#ground, this.#options, spec, signal);
  }

  /** A service may live for months, and what cleans /tmp of old files takes those that all sandboxes share. */
  async #restore(): Promise<void> {
    const { instance, keeper, sharedFiles } = this.#ground;
    const there = await Promise.all(
      sharedFiles.map(([from]) =>
        access(from).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (there.every(Boolean)) return;
    try {
      await instance.record(keeper.leftovers);
      await makeSharedFiles(join(instance.directory, 'etc'), this.#options.caFile);
    } catch (error) {
      const detail = `The sandboxes' run directory cannot be made again: ${messageOf(error)}.`;
      throw new ServiceError('sandbox_unavailable', detail, { cause: error });
    }
  }

  async #end(key: number): Promise<void> {
    await closeQuietly(this.#open.get(key));
  }
}

async function closeQuietly(opening: Promise<Sandbox> | undefined): Promise<void> {
  const sandbox = await opening?.catch(() => null);
  await sandbox?.close();
}

function idsOf(uidBase: number, key: number): { uid: number; gid: number } {
  const id = uidBase + key;
  if (!Number.isSafeInteger(id) || id < 1000 || id > MOST_UID) {
    throw new ServiceError(
      'sandbox_unavailable',
      `Conversation ${key} has no uid: ${uidBase} + ${key} is out of range.`,
    );
  }
  return { uid: id, gid: id };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

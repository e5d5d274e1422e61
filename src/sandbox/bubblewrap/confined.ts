import { readFile } from 'node:fs/promises';
import { DiskWatch, type Watched } from './limits/disk.ts';
import { childrenOf, killAll, processTree } from './limits/process-tree.ts';
import { launch, type Launch, type Launched } from './launch.ts';
import { killSurvivors } from './survivors.ts';

/** bwrap's own end, after SIGKILL, is a matter of milliseconds. */
const CLOSE_MS = 5000;
const INIT_MS = 500;

export interface Confinement extends Launch {
  /** Part of a mount that only this sandbox has, to find its processes by. */
  mark: string;
  /** What is watched for its size on the disk; none in the self test. */
  disk: { watched: Watched; bytes: number } | null;
}

/** The processes of one sandbox, from the launch until nothing of them is left. They end together, always. */
export class Confined {
  readonly #plan: Confinement;
  readonly #launched: Launched;
  readonly #disk: DiskWatch | null;
  readonly #exited = Promise.withResolvers<{ reason: string }>();
  #poll: NodeJS.Timeout | undefined;
  #cause: string | null = null;
  #ending: Promise<void> | null = null;

  constructor(plan: Confinement) {
    this.#plan = plan;
    this.#launched = launch(plan);
    this.#disk = plan.disk && new DiskWatch(plan.disk.watched, plan.disk.bytes, () => plan.bounds.members());
    this.#disk?.start((reason) => this.kill(reason));
    this.#watch();
    void this.#launched.closed.then(() => this.#end());
  }

  get streams(): Pick<Launched, 'stdin' | 'stdout'> {
    return this.#launched;
  }

  /** What ended it, or is about to: a limit that was exceeded, a close. Null while nothing has. */
  get cause(): string | null {
    return this.#cause;
  }

  /** Resolves when no process is left; never rejects. Its control groups are gone too then. */
  get exited(): Promise<{ reason: string }> {
    return this.#exited.promise;
  }

  /** The host uids of its processes. */
  async uids(): Promise<Set<string>> {
    const found = new Set<string>();
    for (const pid of await processTree(this.#launched.outermost() ?? 0)) {
      const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
      for (const uid of /^Uid:\t(.+)$/m.exec(status)?.[1]?.split('\t') ?? []) found.add(uid);
    }
    return found;
  }

  /** SIGKILL to all of it, unless it is ending already: then something else was the reason. Null: the caller tells. */
  kill(reason: string | null): void {
    if (this.#ending === null) this.#cause = reason;
    void this.#end();
  }

  #end(): Promise<void> {
    this.#ending ??= this.#finish();
    return this.#ending;
  }

  #watch(): void {
    const { bounds } = this.#plan;
    const look = async (): Promise<void> => {
      const breach = await bounds.breach().catch(() => null);
      if (this.#ending !== null) return;
      if (breach !== null) this.kill(breach);
      else this.#poll = setTimeout(() => void look(), bounds.pollMs).unref();
    };
    void look();
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#poll);
    this.#disk?.stop();
    const { bounds, mark, user } = this.#plan;
    // The kernel may have ended it for a breach that no look has found yet.
    this.#cause ??= await bounds.breach().catch(() => null);
    await this.#killInit();
    killAll([this.#launched.outermost() ?? 0]);
    await bounds.kill();
    const closed = await Promise.race([this.#launched.closed, later(CLOSE_MS)]);
    // By an own uid or this service's: no other process can be of this sandbox.
    const left = await killSurvivors(mark, user?.uid ?? process.getuid?.() ?? null);
    const stuck = await bounds.remove().then(
      () => null,
      (error: unknown) => String(error),
    );
    this.#exited.resolve({ reason: this.#tell(closed, left, stuck) });
  }

  /**
   * The init of the namespace first, and bwrap a moment later: with the one the kernel ends all others, and the other
   * picks up its remains and ends by itself. Init was meant to die with bwrap, but a command can, by ptrace, make it
   * forget that.
   */
  async #killInit(): Promise<void> {
    const init = childrenOf(this.#launched.outermost() ?? 0);
    killAll(init);
    if (init.length > 0) await Promise.race([this.#launched.closed, later(INIT_MS)]);
  }

  #tell(closed: Awaited<Launched['closed']> | null, left: number, stuck: string | null): string {
    const parts: string[] = [];
    if (this.#cause !== null) parts.push(this.#cause);
    else if (closed?.stderr) parts.push(closed.stderr);
    else if (closed === null) parts.push('The sandbox did not end when it was killed.');
    else parts.push('The sandbox ended: its processes were killed from inside, or its shell ended.');
    if (left > 0) parts.push(`${left} of its processes did not end.`);
    if (stuck !== null) parts.push(`Its control group could not be removed: ${stuck}.`);
    return parts.join(' ');
  }
}

async function later(milliseconds: number): Promise<null> {
  return await new Promise((resolve) => setTimeout(() => resolve(null), milliseconds).unref());
}

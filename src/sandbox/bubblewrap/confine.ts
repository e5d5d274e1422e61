import type { SandboxLimits } from '../sandbox.ts';
import { bwrapOptions, type Layout } from './arguments.ts';
import { Confined } from './confined.ts';
import type { Host } from './host.ts';
import type { Instance } from './instance.ts';
import type { LimitKeeper } from './limits/limits.ts';
import type { Mount } from './made-files.ts';
import { findReach } from './reach.ts';

/** What every sandbox of this service has in common. */
export interface Ground {
  host: Host;
  instance: Instance;
  keeper: LimitKeeper;
  /** From `makeSharedFiles`. */
  sharedFiles: readonly Mount[];
  extraReadOnlyPaths: readonly string[];
  /** Null: the service's own, which is not root. */
  userOf(key: number): { uid: number; gid: number } | null;
}

/** One sandbox as its caller wants it; its directories must be there. */
export interface Inhabitant {
  key: number;
  limits: SandboxLimits;
  layout: Pick<Layout, 'workspace' | 'readOnlyWorkspace' | 'home' | 'shell' | 'env'>;
  watchDisk: boolean;
  command: readonly string[];
}

const MOST_TEMPORARY = 1024 ** 3;

/** Starts a command in a sandbox of its own. */
export async function confine(
  ground: Ground,
  { key, limits, layout, ...wish }: Inhabitant,
): Promise<Confined> {
  const { host, instance, keeper, extraReadOnlyPaths } = ground;
  const { workspace, home, shell } = layout;
  const user = ground.userOf(key);
  const reach = await findReach([workspace, home, instance.directory, ...extraReadOnlyPaths], user);
  const tools = extraReadOnlyPaths.map((path) => [path, path] as const);
  const options = bwrapOptions({
    ...layout,
    systemOptions: host.systemOptions,
    readOnly: [...ground.sharedFiles, ...tools].map(([from, to]) => [reach.of(from), to] as const),
    workspace: reach.of(workspace),
    home: reach.of(home),
    shell: shell && {
      run: reach.of(shell.run),
      gateway: reach.of(shell.gateway),
      gitConfig: reach.of(shell.gitConfig),
    },
    // It counts as memory where control groups do the counting.
    temporaryBytes: Math.min(MOST_TEMPORARY, Math.floor(limits.memoryBytes / 4)),
  });
  const bounds = await keeper.create(instance.nameOf(key), limits);
  try {
    return new Confined({
      user,
      reach,
      bounds,
      seccomp: host.seccomp,
      options,
      command: wish.command,
      mark: instance.markOf(key),
      disk: wish.watchDisk
        ? { watched: { workspace, home, run: shell?.run ?? null }, bytes: limits.diskBytes }
        : null,
    });
  } catch (error) {
    await bounds.remove();
    throw error;
  }
}

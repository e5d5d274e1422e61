import { chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../errors.ts';
import type { Sandbox, SandboxSpec } from '../sandbox.ts';
import { prepareRunDirectory } from '../shell/run-directory.ts';
import { withoutSecrets } from '../shell/program.ts';
import { Shell } from '../shell/shell.ts';
import { openWorkspaceFiles } from '../workspace/workspace.ts';
import { BubblewrapSandbox } from './bubblewrap-sandbox.ts';
import { confine, type Ground } from './confine.ts';
import { prepareDirectory, removeTree } from './directories.ts';
import { environment } from './environment.ts';
import { gitConfig } from './made-files.ts';
import type { BubblewrapOptions } from './options.ts';

const WORKSPACE_INSIDE = '/workspace';
const RUN_INSIDE = '/run/agent';
const GATEWAY_INSIDE = '/run/gw/gateway.sock';

/** @throws ServiceError `sandbox_unavailable` with why; nothing of the try is left then */
export async function openSandbox(
  ground: Ground,
  options: BubblewrapOptions,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<Sandbox> {
  // Undone last to first, whether the start fails or the sandbox ends.
  const undo: (() => Promise<void>)[] = [];
  const release = async (): Promise<void> => {
    for (const step of undo.toReversed()) {
      await step().catch((error: unknown) => options.log(`sandbox ${spec.key}: ${String(error)}`));
    }
  };
  try {
    return await start(ground, options, spec, signal, undo, release);
  } catch (error) {
    await release();
    signal.throwIfAborted();
    if (error instanceof ServiceError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ServiceError('sandbox_unavailable', `The sandbox did not start: ${message}`, { cause: error });
  }
}

async function start(
  ground: Ground,
  options: BubblewrapOptions,
  spec: SandboxSpec,
  signal: AbortSignal,
  undo: (() => Promise<void>)[],
  release: () => Promise<void>,
): Promise<Sandbox> {
  const { key, limits } = spec;
  const user = ground.userOf(key);
  const directory = ground.instance.directoryOf(key);
  undo.push(() => removeTree(directory));
  const shell = await makeRunDirectory(directory, user);
  const socketPath = join(shell.gateway, 'gateway.sock');
  const [gateway] = await Promise.all([
    options.startGateway(socketPath, spec.git, Object.values(spec.env)),
    prepareRunDirectory(shell.run, user),
    writeFile(shell.gitConfig, gitConfig(spec.identity, options.gitConfig(spec.git))),
    prepareDirectory(spec.workspace, user),
    prepareDirectory(spec.home, user),
  ]);
  undo.push(() => gateway.close());
  signal.throwIfAborted();
  const withCa = options.caFile !== null;
  const toolPaths = await binDirectories(ground.extraReadOnlyPaths);
  const confined = await confine(ground, {
    key,
    limits,
    layout: {
      workspace: spec.workspace,
      readOnlyWorkspace: spec.readOnlyWorkspace,
      home: spec.home,
      shell,
      env: environment({ toolPaths, withCa, secrets: spec.env }),
    },
    watchDisk: true,
    command: ['bash', '--norc', '--noprofile', `${RUN_INSIDE}/lib/supervisor.sh`],
  });
  undo.push(async () => {
    confined.kill('Its start failed.');
    await confined.exited;
  });
  const running = await Shell.start({
    directory: shell.run,
    owner: user,
    process: { ...confined.streams, kill: () => confined.kill(null), exited: confined.exited },
    processes: ground.keeper.kinds.processes === 'rlimit' ? limits.processes : null,
    fileBytes: limits.diskBytes,
    gatewaySocket: GATEWAY_INSIDE,
    hidden: withoutSecrets(environment({ toolPaths, withCa, secrets: {} }), spec.env),
    workdir: spec.workdir,
    signal,
  });
  const files = openWorkspaceFiles(spec.workspace, {
    mountedAt: WORKSPACE_INSIDE,
    drafts: spec.drafts,
    owner: user,
    readOnly: spec.readOnlyWorkspace,
  });
  return new BubblewrapSandbox({ confined, shell: running, files, release });
}

/** Only this sandbox's user and root get into it: whoever reaches the socket has the conversation's way out. */
async function makeRunDirectory(
  directory: string,
  user: { uid: number; gid: number } | null,
): Promise<{ run: string; gateway: string; gitConfig: string }> {
  await removeTree(directory);
  await mkdir(directory, { mode: user === null ? 0o700 : 0o710 });
  if (user !== null) await chown(directory, 0, user.gid);
  const gateway = join(directory, 'gw');
  await mkdir(gateway, { mode: 0o755 });
  return { run: join(directory, 'agent'), gateway, gitConfig: join(directory, 'gitconfig') };
}

async function binDirectories(paths: readonly string[]): Promise<string[]> {
  const candidates = paths.flatMap((path) => [join(path, 'shims'), join(path, 'bin')]);
  const found = await Promise.all(
    candidates.map(async (path) => (await stat(path).catch(() => null))?.isDirectory()),
  );
  return candidates.filter((_, at) => found[at]);
}

import { lstat, mkdir, readFile, realpath, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../errors.ts';
import { prepareDirectory, removeTree } from '../bubblewrap/directories.ts';
import { gitConfig } from '../bubblewrap/made-files.ts';
import type { BubblewrapOptions } from '../bubblewrap/options.ts';
import { PROXY_INSIDE } from '../gateway/git-front.ts';
import { forgetOwner, recordOwner } from '../owner.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../sandbox.ts';
import { prepareRunDirectory } from '../shell/run-directory.ts';
import { withoutSecrets } from '../shell/program.ts';
import { Shell } from '../shell/shell.ts';
import { unavailable } from '../unavailable.ts';
import { openWorkspaceFiles } from '../workspace/workspace.ts';
import { environment } from './environment.ts';
import { startProcess } from './process.ts';
import { startRelay } from './relay.ts';
import { unconfinedReport } from './report.ts';

export type UnconfinedOptions = Omit<BubblewrapOptions, 'uidBase'>;

const WORKSPACE = '/workspace';
/** What it makes in the run directory. */
export const UNCONFINED = 'unconfined';

/**
 * No sandbox: commands run as the service itself, on the host. Only for who asks for it. What the agent sees as its
 * workspace is the host's path, since there is no other; `/workspace` in a specification's `workdir` stands for it.
 */
export async function openUnconfined(options: UnconfinedOptions): Promise<SandboxProvider> {
  const directory = join(options.runDir, UNCONFINED);
  try {
    await mkdir(options.runDir, { recursive: true, mode: 0o711 });
    // In a directory that all may write to, such as /tmp, another user could have made it first.
    if ((await lstat(options.runDir)).uid !== process.getuid?.())
      throw new Error('it belongs to another user');
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { mode: 0o700 });
    await recordOwner(options.runDir, []);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return unavailable('unconfined', `The run directory ${options.runDir} cannot be used: ${why}.`);
  }
  return new Unconfined(directory, options);
}

class Unconfined implements SandboxProvider {
  readonly report = unconfinedReport();
  readonly #directory: string;
  readonly #options: UnconfinedOptions;
  readonly #open = new Map<number, Promise<Sandbox>>();
  #closed = false;

  constructor(directory: string, options: UnconfinedOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  async open(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    if (this.#closed)
      throw new ServiceError('shutting_down', 'The service is stopping: no new shell is opened.');
    const opening = this.#openAfter(this.#open.get(spec.key), spec, signal);
    this.#open.set(spec.key, opening);
    return await opening;
  }

  async discard({ key, workspace, home }: Pick<SandboxSpec, 'key' | 'workspace' | 'home'>): Promise<void> {
    await closeQuietly(this.#open.get(key));
    this.#open.delete(key);
    await removeTree(workspace);
    await removeTree(home);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open.values()].map(closeQuietly));
    await rm(this.#directory, { recursive: true, force: true });
    await forgetOwner(this.#options.runDir);
    // Kept when it is not empty: then it is not only ours.
    await rmdir(this.#options.runDir).catch(() => undefined);
  }

  async #openAfter(
    before: Promise<Sandbox> | undefined,
    spec: SandboxSpec,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    await closeQuietly(before);
    signal.throwIfAborted();
    const directory = join(this.#directory, String(spec.key));
    await removeTree(directory);
    await mkdir(directory, { mode: 0o700 });
    return await openSandbox(directory, this.#options, spec, signal);
  }
}

async function openSandbox(
  directory: string,
  options: UnconfinedOptions,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<Sandbox> {
  await using failing = new AsyncDisposableStack();
  failing.defer(() => removeTree(directory));
  await Promise.all([prepareDirectory(spec.workspace, null), prepareDirectory(spec.home, null)]);
  // As the shell will say it, whatever links lead there.
  const workspace = await realpath(spec.workspace);
  const socketPath = join(directory, 'gateway.sock');
  const gateway = await options.startGateway(socketPath, spec.git, Object.values(spec.env));
  failing.defer(() => gateway.close());
  const relay = await startRelay(socketPath);
  failing.defer(() => relay.close());
  const proxy = `http://127.0.0.1:${relay.port}`;
  const config = join(directory, 'gitconfig');
  const front = options.gitConfig(spec.git).replaceAll(PROXY_INSIDE, proxy);
  await writeFile(config, gitConfig(spec.identity, front));
  const caBundle =
    options.caFile === null ? null : await writeBundle(join(directory, 'ca.pem'), options.caFile);
  const toolPaths = options.extraReadOnlyPaths.flatMap((path) => [join(path, 'shims'), join(path, 'bin')]);
  const ways = { proxy, gitConfig: config, caBundle, toolPaths };
  const run = join(directory, 'agent');
  await prepareRunDirectory(run, null);
  const shell = await Shell.start({
    directory: run,
    owner: null,
    process: startProcess(['bash', '--norc', '--noprofile', join(run, 'lib', 'supervisor.sh')], {
      cwd: workspace,
      env: environment(spec, ways),
    }),
    processes: null,
    fileBytes: null,
    gatewaySocket: null,
    hidden: withoutSecrets(environment({ ...spec, env: {} }, ways), spec.env),
    workdir: onHost(spec.workdir, workspace),
    signal,
  });
  const held = failing.move();
  const files = openWorkspaceFiles(workspace, {
    mountedAt: workspace,
    drafts: spec.drafts,
    owner: null,
    readOnly: spec.readOnlyWorkspace,
  });
  const ended = shell.lost.then(async (end) => {
    await held.disposeAsync().catch((error: unknown) => options.log(`shell ${spec.key}: ${String(error)}`));
    return end;
  });
  return {
    root: workspace,
    files,
    ended,
    exec: (command, execOptions) => shell.exec(command, execOptions),
    launch: (program, programOptions) => shell.launch(program, programOptions),
    async close() {
      await shell.close();
      await ended;
    },
  };
}

/** The path on the host of one as a specification says it, below `/workspace`. */
function onHost(path: string, workspace: string): string {
  if (path !== WORKSPACE && !path.startsWith(`${WORKSPACE}/`)) return path;
  return join(workspace, path.slice(WORKSPACE.length));
}

/** The service's certificates after the system's, because the variables that name a bundle replace the system's. */
async function writeBundle(path: string, caFile: string): Promise<string> {
  const system = await readFile('/etc/ssl/certs/ca-certificates.crt', 'utf8').catch(() => '');
  const own = await readFile(caFile, 'utf8');
  await writeFile(path, system.includes(own) ? system : `${system}\n${own}`);
  return path;
}

async function closeQuietly(opening: Promise<Sandbox> | undefined): Promise<void> {
  const sandbox = await opening?.catch(() => null);
  await sandbox?.close();
}

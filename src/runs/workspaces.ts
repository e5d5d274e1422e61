import { lstat, mkdir } from 'node:fs/promises';
import type { Sandbox, SandboxLimits } from '../sandbox/sandbox.ts';
import { diskUse } from '../sandbox/workspace/disk-use.ts';
import { type TreeEntry, walkTree } from '../sandbox/workspace/tree.ts';
import { openWorkspaceFiles } from '../sandbox/workspace/workspace.ts';
import type { WorkspaceFiles } from '../sandbox/workspace-files.ts';
import type { Sandboxes } from './sandboxes.ts';

/** The workspaces of conversations, whether or not something runs in them. */
export class Workspaces {
  readonly #sandboxes: Sandboxes;
  readonly #limits: SandboxLimits;

  constructor(sandboxes: Sandboxes, limits: SandboxLimits) {
    this.#sandboxes = sandboxes;
    this.#limits = limits;
  }

  /** Where a conversation's commands see its workspace; its files are below it. */
  rootOf(key: number): string {
    return this.#sandboxes.rootOf(key);
  }

  /** Its files, which no sandbox is needed for. Where there is no workspace yet there are none. */
  async files(key: number): Promise<WorkspaceFiles> {
    const { workspace, drafts } = this.#sandboxes.directories(key);
    const stats = await lstat(workspace).catch(() => null);
    return openWorkspaceFiles(workspace, {
      drafts,
      mountedAt: this.rootOf(key),
      // As root the service makes files for the user that the commands run under, whom the folder belongs to.
      owner: stats && process.getuid?.() === 0 ? { uid: stats.uid, gid: stats.gid } : null,
      readOnly: false,
    });
  }

  /** As {@link files}, for who brings some: makes the workspace where there is none. A sandbox takes it over. */
  async filesToWrite(key: number): Promise<WorkspaceFiles> {
    await mkdir(this.#sandboxes.directories(key).workspace, { recursive: true, mode: 0o700 });
    return await this.files(key);
  }

  /** {@link walkTree}; nothing where there is no workspace. */
  async *walk(key: number, leftOut: (path: string) => void): AsyncGenerator<TreeEntry> {
    const { workspace } = this.#sandboxes.directories(key);
    if (await lstat(workspace).catch(() => null)) yield* walkTree(workspace, leftOut);
  }

  /** What workspace and home may still take of the disk, in bytes. */
  async room(key: number): Promise<number> {
    const { workspace, home } = this.#sandboxes.directories(key);
    const used = await diskUse([workspace, home]);
    return used === null ? 0 : Math.max(0, this.#limits.diskBytes - used);
  }

  /**
   * Lets `use` run commands: in the sandbox that is open, else in one for this alone, which reads the workspace but
   * does not change it, and has no secrets and no way to the repository's server.
   * @throws ServiceError sandbox_unavailable
   */
  async inSandbox<T>(key: number, signal: AbortSignal, use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    const wish = {
      readOnlyWorkspace: true,
      workdir: '/workspace',
      env: {},
      identity: { name: 'Parley', email: 'parley@localhost' },
      git: null,
      limits: this.#limits,
    };
    return await this.#sandboxes.lend(key, wish, signal, use);
  }
}

import { INSIDE_ID, type Mount } from './made-files.ts';

/** One sandbox as bwrap(1) is to build it. Paths are the host's, where the sandbox's uid can reach them. */
export interface Layout {
  /** From `inspectHost`. */
  systemOptions: readonly string[];
  /** Made files, and toolchains outside /usr under their own path. */
  readOnly: readonly Mount[];
  workspace: string;
  readOnlyWorkspace: boolean;
  home: string;
  /** The shell's run directory, with `lib` in it, and the gateway's; null in the self test. */
  shell: { run: string; gateway: string; gitConfig: string } | null;
  temporaryBytes: number;
  env: Readonly<Record<string, string>>;
}

const SHM_BYTES = 64 * 1024 ** 2;

/** bwrap's options in the order in which it carries them out. They hold secrets: pass them by descriptor only. */
export function bwrapOptions(layout: Layout): string[] {
  const { shell } = layout;
  return [
    [
      '--unshare-user',
      '--disable-userns',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-net',
    ],
    ['--unshare-cgroup-try', '--uid', String(INSIDE_ID), '--gid', String(INSIDE_ID), '--hostname', 'sandbox'],
    ['--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
    layout.systemOptions,
    ['--symlink', '/proc/self/mounts', '/etc/mtab', '--proc', '/proc', '--dev', '/dev'],
    ['--size', String(SHM_BYTES), '--perms', '1777', '--tmpfs', '/dev/shm'],
    ['--size', String(layout.temporaryBytes), '--perms', '1777', '--tmpfs', '/tmp'],
    ['--dir', '/var', '--symlink', '/tmp', '/var/tmp'],
    layout.readOnly.flatMap(([from, to]) => ['--ro-bind', from, to]),
    [layout.readOnlyWorkspace ? '--ro-bind' : '--bind', layout.workspace, '/workspace'],
    ['--bind', layout.home, '/home/agent'],
    shell === null ? [] : shellOptions(shell),
    // Both are tmpfs of half the machine's memory otherwise.
    ['--remount-ro', '/dev', '--remount-ro', '/'],
    Object.entries(layout.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--chdir', '/workspace', '--seccomp', '4'],
  ].flat();
}

function shellOptions(shell: NonNullable<Layout['shell']>): string[] {
  return [
    ['--bind', shell.run, '/run/agent'],
    // Where the service is not root the scripts belong to the sandbox's own user; sockets work on a read-only mount.
    ['--ro-bind', `${shell.run}/lib`, '/run/agent/lib'],
    ['--ro-bind', shell.gateway, '/run/gw'],
    ['--ro-bind', shell.gitConfig, '/etc/gitconfig'],
  ].flat();
}

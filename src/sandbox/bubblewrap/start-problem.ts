import { readFile } from 'node:fs/promises';

/** Why bwrap did not start, as a sentence that a person can act on. `stderr` is what the launch said. */
export async function explainStart(stderr: string): Promise<string> {
  const said = stderr.split('\n').find((line) => line.startsWith('bwrap:')) ?? stderr.split('\n')[0] ?? '';
  if (said.startsWith('unshare:')) {
    return (
      `The users of sandboxes cannot pass through to the data directory, and without CAP_SYS_ADMIN it cannot be mounted for them ("${said}"). ` +
      'Open it, what is above it, and `workspaces` in it for passing through: chmod o+x.'
    );
  }
  if (!/^bwrap:.*(namespace|uid map|user\.max|Operation not permitted|Permission denied)/i.test(said)) {
    return `A sandbox did not start: ${said || 'it ended without a word'}.`;
  }
  return `This host does not let bubblewrap make a sandbox ("${said}"). ${await advice()}`;
}

async function advice(): Promise<string> {
  if ((await sysctl('kernel/apparmor_restrict_unprivileged_userns')) === '1') {
    return (
      'AppArmor keeps user namespaces from ordinary users: run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` ' +
      '(and write it to /etc/sysctl.d), or give /usr/bin/bwrap an AppArmor profile with the `userns` permission.'
    );
  }
  if ((await sysctl('kernel/unprivileged_userns_clone')) === '0') {
    return 'Allow user namespaces: run `sysctl -w kernel.unprivileged_userns_clone=1` and write it to /etc/sysctl.d.';
  }
  if ((await sysctl('user/max_user_namespaces')) === '0') {
    return 'Allow user namespaces: run `sysctl -w user.max_user_namespaces=15000` and write it to /etc/sysctl.d.';
  }
  return (
    'User namespaces, or mounts in them, are refused. In a container: start it with `--user 1000 ' +
    '--security-opt seccomp=unconfined --security-opt systempaths=unconfined`.'
  );
}

async function sysctl(name: string): Promise<string | null> {
  const text = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => null);
  return text?.trim() ?? null;
}

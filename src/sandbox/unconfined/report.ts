import type { SandboxReport } from '../sandbox.ts';

const UNGUARDED: Readonly<Record<string, string>> = {
  files: 'commands read and write every file that this user can, the data of this service included',
  workspace:
    'a read-only workspace is so for the editor alone, not for commands; it lies at its path on the host',
  network:
    'commands reach every address that this machine can; the gateway is used by those who listen to the proxy variables',
  token: 'another program of this user can use the gateway of a conversation, and with it the token',
  processes: 'a process that drops its environment outlives its sandbox',
  limits: 'memory, processes, CPU time and disk are not bounded',
};

/** What is said of having no sandbox: it works, and here is all that nothing stands in the way of. */
export function unconfinedReport(): SandboxReport {
  const uid = process.getuid?.();
  const user = {
    name: 'user',
    ok: false,
    detail: `commands run as the service itself, uid ${uid}${uid === 0 ? ' (root)' : ''}`,
  };
  const others = Object.entries(UNGUARDED).map(([name, detail]) => ({ name, ok: false, detail }));
  return {
    kind: 'unconfined',
    ok: true,
    reason: '',
    checks: [user, ...others],
    limits: { memory: 'none', processes: 'none', cpu: 'none', disk: 'none' },
  };
}

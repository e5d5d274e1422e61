import { once } from 'node:events';
import { createServer, connect, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { SandboxReport } from '../sandbox.ts';
import { confine, type Ground } from './confine.ts';
import { prepareDirectory, removeTree } from './directories.ts';
import { PROBE } from './probe.ts';
import { explainStart } from './start-problem.ts';

type Check = SandboxReport['checks'][number];

/** No conversation has this number. */
const KEY = 0;
const MIB = 1024 ** 2;
/** Small, so that reaching them takes milliseconds. */
const LIMITS = { memoryBytes: 128 * MIB, processes: 48, cpus: 1, diskBytes: 64 * MIB };
/** It takes a second. A machine that is busy with its own start may take a multiple, and is not to be without sandboxes. */
const LONGEST_MS = 60_000;
const METADATA = ['169.254.169.254', 'fd00:ec2::254'];
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const FAMILIES = '1 2 10 16';
const EPERM = '1';
const ENOSYS = '38';

/**
 * Tries, in a throw-away sandbox, what a hostile command would try, and whether the limits end it. Where the answer is
 * not ok, `reason` is the first thing that did not hold, as a sentence that a person can act on.
 */
export async function selfTest(
  ground: Ground,
  workspaces: string | null = null,
): Promise<{ ok: boolean; reason: string; checks: Check[] }> {
  await using folder = await makeFolder(ground, workspaces);
  const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const { workspace, home } = folder;
  try {
    const before = performance.now();
    const seen = await runProbe(ground, { workspace, home, port });
    if (!seen.answers.has('uid')) return { ok: false, reason: await explainStart(seen.reason), checks: [] };
    const checks = [
      {
        name: 'start',
        ok: true,
        detail: `started, tried and ended in ${Math.round(performance.now() - before)} ms`,
      },
      ...judge(seen, await reachable(port), ground),
    ];
    const failed = checks.find((check) => !check.ok);
    const reason =
      failed === undefined ? '' : `The sandbox's test of itself failed (${failed.name}): ${failed.detail}.`;
    return { ok: failed === undefined, reason, checks };
  } finally {
    listener.close();
  }
}

/** Where a conversation has them; on a disk that is full, which may change, in the run directory. */
async function makeFolder(
  ground: Ground,
  workspaces: string | null,
): Promise<{ workspace: string; home: string } & AsyncDisposable> {
  const folder = workspaces === null ? ground.instance.directoryOf(KEY) : join(workspaces, String(KEY));
  const [workspace, home] = [join(folder, 'workspace'), join(folder, 'home')];
  try {
    for (const path of [workspace, home]) await prepareDirectory(path, ground.userOf(KEY));
  } catch (error) {
    await removeTree(folder);
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (workspaces === null || (code !== 'ENOSPC' && code !== 'EDQUOT')) throw error;
    return await makeFolder(ground, null);
  }
  return { workspace, home, [Symbol.asyncDispose]: () => removeTree(folder) };
}

interface Seen {
  /** What the probe printed, by its first word; of `reach` one entry for each host. */
  answers: Map<string, string>;
  /** The host uids of its processes. */
  uids: Set<string>;
  reason: string;
}

async function runProbe(
  ground: Ground,
  at: { workspace: string; home: string; port: number },
): Promise<Seen> {
  const targets = [
    ...hostAddresses().flatMap((host) => [host, String(at.port)]),
    ...METADATA.flatMap((host) => [host, '80']),
  ];
  // With control groups the number of processes is not the shell's to set.
  const perl = '[[ -z $1 ]] || ulimit -u "$1"; shift; exec perl - "$@"';
  const limit = ground.keeper.kinds.processes === 'rlimit' ? String(LIMITS.processes) : '';
  const confined = await confine(ground, {
    key: KEY,
    limits: LIMITS,
    layout: {
      workspace: at.workspace,
      home: at.home,
      readOnlyWorkspace: false,
      shell: null,
      env: { PATH: '/usr/bin:/bin' },
    },
    watchDisk: false,
    command: ['bash', '--norc', '--noprofile', '-c', perl, 'bash', limit, process.arch, ...targets],
  });
  const { stdin, stdout } = confined.streams;
  const timer = setTimeout(() => confined.kill('It took too long.'), LONGEST_MS);
  let text = '';
  let uids: Promise<Set<string>> | undefined;
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    uids ??= confined.uids().finally(() => stdin.end('seen\n'));
  });
  stdin.on('error', () => undefined);
  stdin.write(PROBE);
  const { reason } = await confined.exited;
  clearTimeout(timer);
  const lines = text.split('\n').filter(Boolean);
  const answers = lines.map((line) => /^(reach \S+|\S+) ?(.*)$/.exec(line)?.slice(1) ?? []);
  return {
    answers: new Map(answers.map(([word = '', rest = '']) => [word, rest])),
    uids: (await uids) ?? new Set(),
    reason,
  };
}

function judge({ answers, uids, reason }: Seen, listenerReachable: boolean, ground: Ground): Check[] {
  const is = (name: string): string => answers.get(name) ?? 'no answer';
  const { user, kinds } = { user: ground.userOf(KEY), kinds: ground.keeper.kinds };
  const uid = String(user?.uid ?? process.getuid?.());
  const [count = '', foreign = ''] = is('sysctl').split(' ');
  const calls = ['unshare', 'clone3', 'io_uring', 'keyctl', 'bpf'].map((name) => `${name} ${is(name)}`);
  const wanted = [
    `unshare ${EPERM}`,
    `clone3 ${ENOSYS}`,
    `io_uring ${ENOSYS}`,
    `keyctl ${EPERM}`,
    `bpf ${EPERM}`,
  ];
  const reached = [...answers]
    .filter(([name, answer]) => name.startsWith('reach ') && answer === 'connected')
    .map(([name]) => name.slice(6));
  const tried = [...answers.keys()].filter((name) => name.startsWith('reach '));
  const privileges = `${is('CapEff')} ${is('CapBnd')} ${is('NoNewPrivs')} ${is('Seccomp')}`;
  const forked = Number(is('forked'));
  return [
    {
      name: 'own uid',
      ok: uids.size === 1 && uids.has(uid) && uid !== '0',
      detail: `its processes have host uid ${[...uids].join(', ') || 'unknown'}${user === null ? ' (the service’s own)' : ''}`,
    },
    {
      name: 'no privileges',
      ok: /^0+ 0+ 1 2$/.test(privileges),
      detail: `capabilities, no-new-privileges and seccomp are ${privileges}`,
    },
    {
      name: 'kernel settings',
      ok: is('core_pattern') === 'closed' && foreign === '' && Number(count) < 100,
      detail: `core_pattern is ${is('core_pattern')}; ${count} files of /proc/sys are writable${foreign ? `, among them ${foreign}` : ', all of its own namespaces'}`,
    },
    { name: 'system calls', ok: calls.join() === wanted.join(), detail: `errors are ${calls.join(', ')}` },
    {
      name: 'socket families',
      ok: is('families') === FAMILIES,
      detail: `families ${is('families')} open, AF_VSOCK (40) is ${is('families').split(' ').includes('40') ? 'open' : 'refused'}`,
    },
    {
      name: 'host network',
      ok: listenerReachable && reached.length === 0 && tried.length > METADATA.length,
      detail:
        reached.length > 0
          ? `${reached.join(', ')} can be reached`
          : `${tried.length} addresses tried, the metadata service’s among them: none reached`,
    },
    {
      name: 'environment',
      ok:
        /^PATH,PWD,SHLVL(,_)?$/.test(is('environment')) &&
        /^((PWD=\/|SHLVL=0|PATH=[^,]*|_=[^,]*),)+$/.test(is('init')),
      detail: `variables are ${is('environment')}; its first process was started with ${is('init')}`,
    },
    {
      name: 'process limit',
      ok: forked > 0 && forked < LIMITS.processes,
      detail: `${forked} processes could be made under a limit of ${LIMITS.processes} by ${kinds.processes}`,
    },
    {
      name: 'memory limit',
      // A watchdog may look only after the probe has said that it holds too much; what counts is what ended it.
      ok: answers.has('done') && reason.includes('memory'),
      detail: reason.includes('memory')
        ? `ended by ${kinds.memory}: ${reason}`
        : `it was exceeded and did not end it; what did: ${reason.replace(/\.$/, '')}`,
    },
  ];
}

function hostAddresses(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  // Addresses of one link need its name, which means nothing in another network namespace.
  const routed = own.filter(({ address }) => !/^fe[89ab]/i.test(address)).map(({ address }) => address);
  return [...new Set(['127.0.0.1', '::1', ...routed])].slice(0, 16);
}

/** The listener is really there: else that it cannot be reached from inside would say nothing. */
async function reachable(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return await once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

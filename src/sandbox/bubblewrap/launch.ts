import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Bounds } from './limits/limits.ts';
import { HOST_PATH } from './programs.ts';
import type { Reach } from './reach.ts';

export interface Launch {
  /** The host uid and gid of everything in the sandbox; null: the service's own, which is not root. */
  user: { uid: number; gid: number } | null;
  reach: Reach;
  bounds: Bounds;
  seccomp: Buffer;
  /** From `bwrapOptions`. */
  options: readonly string[];
  /** What runs inside. It stands on the command line, where everyone on the host can read it. */
  command: readonly string[];
}

export interface Launched {
  /** bwrap's pid on the host; null before it starts and from when it has ended, as the number may be reused then. */
  outermost(): number | null;
  stdin: Writable;
  stdout: Readable;
  /** Resolves when the process has ended and its streams are read to the end; never rejects. */
  closed: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
}

/** A start that fails says why in a line or two; nothing inside can reach this stream. */
const MOST_STDERR = 4096;

// Arguments: DATA in KiB or "", STAGE or "", files to join …, "--", paths to stage …, "--", command …
const LAUNCHER = `
data=$1 stage=$2; shift 2
# Descriptors that the service inherited from whoever started it would reach the sandbox. Without 2>/dev/null: bash
# would keep the real one as a high number, and close it here.
for fd in /proc/self/fd/*; do ((\${fd##*/} > 4)) && eval "exec \${fd##*/}>&-"; done
groups=()
while [[ $1 != -- ]]; do groups+=("$1"); shift; done; shift
# The kernel takes ten milliseconds over the first: they pass while the mounts are made.
for group in "\${groups[@]}"; do echo $$ >"$group" || exit 125; done &
joining=$!
echo 900 >/proc/self/oom_score_adj
ulimit -c 0; umask 022
ulimit -n 4096
[[ -z $data ]] || ulimit -d "$data" || exit 125
if [[ -n $stage ]]; then
  mount -n -t tmpfs -o size=64k,mode=755,nosuid,nodev parley "$stage" || exit 125
  at=0
  while [[ $1 != -- ]]; do
    if [[ -d $1 ]]; then mkdir "$stage/$at"; else : >"$stage/$at"; fi
    mount -n --bind "$1" "$stage/$at" || exit 125
    at=$((at + 1)); shift
  done
fi
while [[ $1 != -- ]]; do shift; done; shift
wait "$joining" || exit 125
exec "$@"
`;

/**
 * Starts bwrap. Call it from the main thread: the sandbox dies with the *thread* that started it (prctl(2),
 * PR_SET_PDEATHSIG). Root never runs bwrap itself: the kernel decides about `/proc/sys` by the host uid, and hundreds
 * of its files, core_pattern among them, would be writable inside, whatever uid is shown there.
 */
export function launch(plan: Launch): Launched {
  const { user, reach, bounds } = plan;
  // They are separated by NUL: what holds one would become further options, such as to mount the host's root.
  if (plan.options.some((option) => option.includes('\0')))
    throw new Error('an option holds a NUL character');
  const drop = user === null ? ['setpriv', '--no-new-privs'] : dropTo(user);
  const bash = ['bash', '--norc', '--noprofile', '-c', LAUNCHER, 'parley-launcher'];
  const [program = '', ...args] = [
    ...(reach.stage === null ? [] : ['unshare', '--mount', '--propagation', 'slave']),
    ...bash,
    bounds.dataBytes === null ? '' : String(Math.ceil(bounds.dataBytes / 1024)),
    reach.stage ?? '',
    ...bounds.joinFiles,
    '--',
    ...reach.staged,
    '--',
    ...drop,
    'bwrap',
    '--args',
    '3',
    '--',
    ...plan.command,
  ];
  const child = spawn(program, args, {
    cwd: '/',
    // /proc/1/environ inside shows this environment.
    env: { PATH: HOST_PATH },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const [stdin, stdout, stderr, optionsPipe, seccompPipe] = child.stdio;
  if (!stdin || !stdout || !stderr || !isWritable(optionsPipe) || !isWritable(seccompPipe)) {
    throw new Error('the pipes of a new process are missing');
  }
  let complaint = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < MOST_STDERR) complaint += text;
  });
  for (const [pipe, content] of [
    [optionsPipe, `${plan.options.join('\0')}\0`],
    [seccompPipe, plan.seccomp],
  ] as const) {
    // When bwrap ends early, its stderr says why; that nobody reads this any more says nothing.
    pipe.on('error', () => undefined);
    pipe.end(content);
  }
  const closed = new Promise<Awaited<Launched['closed']>>((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, stderr: error.message }));
    // Not 'exit': what was said last is still in the pipe then.
    child.once('close', (code, signal) => resolve({ code, signal, stderr: complaint.trim() }));
  });
  const outermost = (): number | null =>
    child.exitCode === null && child.signalCode === null ? (child.pid ?? null) : null;
  bounds.started(outermost);
  return { outermost, stdin, stdout, closed };
}

function dropTo(user: { uid: number; gid: number }): string[] {
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  return ['setpriv', ...identity, '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'];
}

function isWritable(stream: Readable | Writable | null | undefined): stream is Writable {
  return stream !== null && stream !== undefined && 'end' in stream;
}

import { readFile } from 'node:fs/promises';
import { runProgram } from '../sandbox/bubblewrap/programs.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** An older one than Parley needs starts no command at all. */
export function checkNode(): Check[] {
  return [ok('node', `Node ${process.versions.node}`)];
}

/** Programs beside the sandbox's own check, so that each is seen by its name and version. */
const PROGRAMS: readonly { name: string; args: readonly string[]; why: string }[] = [
  { name: 'bwrap', args: ['--version'], why: 'sandboxes are made by it: apt install bubblewrap' },
  { name: 'socat', args: ['-V'], why: 'sandboxes reach the network by it: apt install socat' },
  { name: 'git', args: ['--version'], why: 'repositories are cloned by it: apt install git' },
  {
    name: 'git-lfs',
    args: ['version'],
    why: 'repositories with files in LFS are cloned by it: apt install git-lfs',
  },
];

/** @param needed whether commands are run here at all */
export async function checkPrograms(needed: boolean): Promise<Check[]> {
  return await Promise.all(
    PROGRAMS.map(async ({ name, args, why }) => {
      const { missing, stdout } = await runProgram(name, args, 10_000);
      if (missing) return needed ? fail(name, 'not there', `${why}.`) : ok(name, 'not there, and not needed');
      const version = /\d+\.\d+[\w.]*/.exec(stdout)?.[0] ?? 'of an unknown version';
      return ok(name, `${name} ${version}`);
    }),
  );
}

/** What the kernel and AppArmor say of namespaces that ordinary users make. */
export async function checkNamespaces(): Promise<Check[]> {
  const settings = {
    'kernel/apparmor_restrict_unprivileged_userns': '1',
    'kernel/unprivileged_userns_clone': '0',
    'user/max_user_namespaces': '0',
  };
  const found: string[] = [];
  for (const [name, refuses] of Object.entries(settings)) {
    const text = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => null);
    if (text?.trim() === refuses) found.push(`${name.replaceAll('/', '.')}=${refuses}`);
  }
  if (found.length === 0) return [ok('user namespaces', 'not restricted by a setting of the kernel')];
  return [
    warn(
      'user namespaces',
      `restricted: ${found.join(', ')}`,
      'Where the sandbox check below holds, nothing is to be done; else see docs/platforms.md.',
    ),
  ];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Nothing of this release can have happened before. */
const RELEASED = Date.parse('2025-01-01T00:00:00Z');

/** @param newest when something was last stored; null when nothing was */
export function checkClock(newest: string | null, now = Date.now()): Check[] {
  const shown = new Date(now).toISOString();
  const advice = 'Set the clock, best by a time service: log-ins and keys end by it.';
  if (now < RELEASED) return [fail('clock', `it says ${shown}`, advice)];
  const ahead = newest === null ? 0 : Date.parse(newest) - now;
  if (ahead > DAY_MS) {
    return [fail('clock', `it says ${shown}, but something was stored at ${newest}`, advice)];
  }
  if (ahead > 60_000)
    return [warn('clock', `it is ${Math.round(ahead / 1000)} s behind what was stored last`, advice)];
  return [ok('clock', shown)];
}

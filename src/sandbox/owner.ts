import { readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Which service keeps its sandboxes in a run directory: its record there, for whoever starts after it. */
export interface Owner {
  pid: number;
  startTime: string;
  /** In which numbers of processes the pid is one. */
  namespace: string;
  /** Directories of control groups that it made. */
  groups: readonly string[];
}

const RECORD = 'owner.json';

export async function recordOwner(directory: string, groups: readonly string[]): Promise<void> {
  const { pid } = process;
  const owner: Owner = {
    pid,
    startTime: (await startTimeOf(pid)) ?? '',
    namespace: await ownNamespace(),
    groups,
  };
  await writeFile(join(directory, RECORD), JSON.stringify(owner), { mode: 0o600 });
}

/** Null where nobody has left a record that can be read. */
export async function ownerOf(directory: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(join(directory, RECORD), 'utf8')) as Owner;
  } catch {
    return null;
  }
}

export async function forgetOwner(directory: string): Promise<void> {
  await rm(join(directory, RECORD), { force: true });
}

/** A process that has ended lives no more, although its number stays until its parent has asked how it ended. */
export async function lives({ pid, startTime }: Owner): Promise<boolean> {
  const fields = await statOf(pid);
  return !/^[ZX]$/.test(fields[0] ?? '') && fields[START_TIME] === startTime;
}

/** Whether this process can tell: a service in another container has numbers of its own. */
export async function isInSight({ namespace }: Owner): Promise<boolean> {
  return namespace !== '' && namespace === (await ownNamespace());
}

/** pid_namespaces(7); "" where there is no such thing. */
async function ownNamespace(): Promise<string> {
  return await readlink('/proc/self/ns/pid').catch(() => '');
}

/** With it a pid names one process for ever. */
async function startTimeOf(pid: number): Promise<string | null> {
  return (await statOf(pid))[START_TIME] ?? null;
}

/** Of the fields of proc(5), /proc/PID/stat, from the state (field 3) on; none where there is no such process. */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null);
  // The name in parentheses may hold anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
}

/** Field 22, in what {@link statOf} gives. */
const START_TIME = 19;

import { readdir, readFile } from 'node:fs/promises';

/** Microseconds of processor time the threads of a process have used, those that have ended left out. */
export async function processorTime(pid: number): Promise<number> {
  let nanoseconds = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const used = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
    nanoseconds += Number(used.split(' ', 1)[0]);
  }
  return nanoseconds / 1000;
}

/** Bytes of memory that are in use by the process, shared ones counted whole. */
export async function residentBytes(pid: number): Promise<number> {
  return await kilobytes(`/proc/${pid}/status`, 'VmRSS');
}

/** Bytes of memory that are in use by the process, shared ones divided among those who share them. */
export async function proportionalBytes(pid: number): Promise<number> {
  return await kilobytes(`/proc/${pid}/smaps_rollup`, 'Pss');
}

export async function descriptors(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** All processes that it or its children started and that are still there. */
export async function descendants(pid: number): Promise<number[]> {
  const lists = await Promise.all(
    (await readdir(`/proc/${pid}/task`)).map((thread) =>
      readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''),
    ),
  );
  const children = lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  const further = await Promise.all(children.map((child) => descendants(child).catch(() => [])));
  return [...children, ...further.flat()];
}

async function kilobytes(file: string, name: string): Promise<number> {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(await readFile(file, 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${file} has no ${name}`);
  return Number(found) * 1024;
}

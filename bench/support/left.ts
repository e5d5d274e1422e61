import { setTimeout as sleep } from 'node:timers/promises';
import type { Inspector } from '../../test/support/inspector.ts';
import type { Parley } from '../../test/support/parley.ts';
import { descendants, descriptors } from './processes.ts';

/** For a server whose memory is compared: by default V8 drops code that is not used for a while, a MiB at a time. */
export const STEADY_HEAP = ['--no-flush-bytecode'];

/** Looks at the memory, of which the least counts: what was just allocated comes and goes. */
const LOOKS = 3;
const PATIENCE_MS = 90_000;

/** What a server holds when nobody is there any more. */
export interface Left {
  bytes: number;
  descriptors: number;
  processes: number;
  /** Of objects by their constructor, timers among them, and the entries of all collections. */
  counts: Record<string, number>;
}

/** What is there that was not there before. */
export interface More {
  bytes: number;
  timers: number;
  descriptors: number;
  processes: number;
  /** What there is more of by at least one for twenty times that something was done; pools grow by less. */
  objects: Record<string, number>;
}

/** As soon as there is no more than `before`; what there is at last, when it does not come to that. */
export async function leftBehind(app: Parley, inspector: Inspector, before?: Left): Promise<Left> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = await look(app, inspector);
    const { timers, descriptors: files, processes } = more(before ?? now, now, 1);
    const isSettled = timers <= 0 && files <= 0 && processes <= 0;
    if (isSettled || performance.now() > deadline) return now;
    await sleep(1_000);
  }
}

/** @param times how often something was done in between */
export function more(before: Left, after: Left, times: number): More {
  const grown = Object.entries(after.counts).map(
    ([what, count]) => [what, count - (before.counts[what] ?? 0)] as const,
  );
  return {
    bytes: after.bytes - before.bytes,
    timers: (after.counts['Timeout'] ?? 0) - (before.counts['Timeout'] ?? 0),
    descriptors: after.descriptors - before.descriptors,
    processes: after.processes - before.processes,
    objects: Object.fromEntries(grown.filter(([, count]) => count >= Math.max(1, times / 20))),
  };
}

export function isNothing({ timers, descriptors: files, processes, objects }: More): boolean {
  return timers <= 0 && files <= 0 && processes <= 0 && Object.keys(objects).length === 0;
}

/** Names what there is more of: `12 Socket, 3 Map`. */
export function objectsTold({ objects }: More): string {
  const told = Object.entries(objects).map(([what, count]) => `${count} ${what}`);
  return told.length === 0 ? 'no objects' : told.join(', ');
}

async function look(app: Parley, inspector: Inspector): Promise<Left> {
  const bytes: number[] = [];
  for (let n = 0; n < LOOKS; n += 1) bytes.push((await inspector.held()).bytes);
  return {
    bytes: Math.min(...bytes),
    descriptors: await descriptors(app.pid),
    processes: (await descendants(app.pid)).length,
    counts: await inspector.counts(),
  };
}

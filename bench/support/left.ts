import { setTimeout as sleep } from 'node:timers/promises';
import type { Inspector } from '../../test/support/inspector.ts';
import type { Parley } from '../../test/support/parley.ts';
import { descendants, descriptors } from './processes.ts';
import { bytesOfObjects, reachable } from './reachable.ts';

const PATIENCE_MS = 90_000;

/** What a server holds when nobody is there any more. */
export interface Left extends Seen {
  /** Of what is reachable, by V8's kinds. */
  bytes: Record<string, number>;
}

/** What is looked at as often as it takes to come to rest. */
interface Seen {
  descriptors: number;
  processes: number;
  /** Of objects by their constructor, timers among them, and the entries of all collections. */
  counts: Record<string, number>;
}

/** What is there that was not there before. */
export interface More {
  /** Of objects: code is left out, and the room of tables. */
  bytes: number;
  timers: number;
  descriptors: number;
  processes: number;
  /** What there is more of by at least one for twenty times that something was done; pools grow by less. */
  objects: Record<string, number>;
}

/**
 * As soon as there is no more than `before`; without one, as soon as it becomes no less. What there is at last, when it
 * does not come to that.
 */
export async function leftBehind(app: Parley, inspector: Inspector, before?: Left): Promise<Left> {
  const deadline = performance.now() + PATIENCE_MS;
  let now = await look(app, inspector);
  for (let isAtRest = before && isNoMore(now, before); !isAtRest && performance.now() < deadline;) {
    await sleep(1_000);
    const last = now;
    now = await look(app, inspector);
    isAtRest = before ? isNoMore(now, before) : isNoMore(last, now);
  }
  return { ...now, bytes: await reachable(inspector) };
}

function isNoMore(now: Seen, before: Seen): boolean {
  return (
    timersOf(now) <= timersOf(before) &&
    now.descriptors <= before.descriptors &&
    now.processes <= before.processes
  );
}

function timersOf({ counts }: Seen): number {
  return counts['Timeout'] ?? 0;
}

/** @param times how often something was done in between */
export function more(before: Left, after: Left, times: number): More {
  const grown = Object.entries(after.counts).map(
    ([what, count]) => [what, count - (before.counts[what] ?? 0)] as const,
  );
  return {
    bytes: bytesOfObjects(after.bytes) - bytesOfObjects(before.bytes),
    timers: timersOf(after) - timersOf(before),
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

async function look(app: Parley, inspector: Inspector): Promise<Seen> {
  return {
    descriptors: await descriptors(app.pid),
    processes: (await descendants(app.pid)).length,
    counts: await inspector.counts(),
  };
}

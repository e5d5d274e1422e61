import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Inspector } from '../../test/support/inspector.ts';

/** Of a heap snapshot, what is read here: a row of numbers for each node, which `meta` names. */
interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
  nodes: number[];
}

/**
 * What V8 makes for itself of code that runs often, and drops again when an assumption fails: hundreds of KiB go up and
 * down by that, whatever the program holds. And the room that tables have: it is doubled for what comes at once and
 * kept, 128 KiB at a time, whatever is in it. What is in it counts: as an object of its own, or as an entry.
 */
const CODE_AND_ROOM: ReadonlySet<string> = new Set(['code', 'hidden', 'array']);

/** Bytes of all that is reachable in an inspected process, by V8's kinds: `object`, `string`, `closure`, `code`, … */
export async function reachable(inspector: Inspector): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'heap-'));
  try {
    const file = join(folder, 'heap.heapsnapshot');
    await inspector.writeSnapshot(file);
    return bytesByKind(JSON.parse(await readFile(file, 'utf8')) as Snapshot);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Those of what the program made, of what {@link reachable} gave. */
export function bytesOfObjects(byKind: Record<string, number>): number {
  const made = Object.entries(byKind).filter(([kind]) => !CODE_AND_ROOM.has(kind));
  return made.reduce((sum, [, bytes]) => sum + bytes, 0);
}

function bytesByKind({ snapshot: { meta }, nodes }: Snapshot): Record<string, number> {
  const [kinds] = meta.node_types;
  const [kind, size] = [meta.node_fields.indexOf('type'), meta.node_fields.indexOf('self_size')];
  const bytes: Record<string, number> = {};
  for (let at = 0; at < nodes.length; at += meta.node_fields.length) {
    const name = kinds[nodes[at + kind] ?? -1] ?? 'unknown';
    bytes[name] = (bytes[name] ?? 0) + (nodes[at + size] ?? 0);
  }
  return bytes;
}

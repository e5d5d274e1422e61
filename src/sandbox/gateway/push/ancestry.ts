import type { Commits } from './pack-commits.ts';
import type { RefChange } from './push.ts';

/** Brings more commits: those that lead to `wants` and that `have` does not have already. */
export type AskCommits = (wants: readonly string[], have: string) => Promise<Commits>;

/** The host is asked about so many commits at once, at most. */
const MOST_WANTS = 100;

/**
 * Which of the updates are not proven to be fast-forwards. A proof is a chain of commits from the new id back to the
 * old one, each known by its hash, so it does not matter who brought them: the push itself, and the host what it had
 * before.
 */
export async function unproven(
  updates: readonly RefChange[],
  pushed: Commits,
  ask: AskCommits,
): Promise<RefChange[]> {
  const known: Commits = new Map(pushed);
  const left: RefChange[] = [];
  for (const update of updates) {
    if (!(await isProven(update, known, ask))) left.push(update);
  }
  return left;
}

async function isProven({ from, to }: RefChange, known: Commits, ask: AskCommits): Promise<boolean> {
  if (from === null || to === null) return false;
  const first = lookBack(known, to, from);
  if (first === 'found') return true;
  if (first.length > MOST_WANTS) return false;
  for (const [id, parents] of await ask(first, from)) known.set(id, parents);
  return lookBack(known, to, from) === 'found';
}

/** Whether `old` is found on the way back from `start`; else the commits on that way which are not known. */
function lookBack(known: Commits, start: string, old: string): 'found' | string[] {
  const seen = new Set([start]);
  const unknown: string[] = [];
  for (const id of seen) {
    if (id === old) return 'found';
    const parents = known.get(id);
    if (!parents) unknown.push(id);
    for (const parent of parents ?? []) seen.add(parent);
  }
  return unknown;
}

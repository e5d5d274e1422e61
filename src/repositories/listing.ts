import { type Answer, ok, type ProviderFailure } from '../git/answer.ts';
import type { Page, PageOf } from '../git/git-provider.ts';
import { TimeLimit } from '../time-limit.ts';

/** What a list without pages holds of each provider at most, and how long it may take. */
const MOST_PAGES = 10;
const PER_PAGE = 100;
const DEADLINE_MS = 10_000;

/** A page of something, or all of it as far as it goes. */
export interface Listed<T> {
  items: readonly T[];
  /** Whether there is more than this. */
  more: boolean;
  /** How many there are in all, where that is known. */
  total: number | null;
}

/** A page that was asked for; null asks for all. */
export type Wanted = PageOf | null;

type AskForPage<T> = (which: PageOf, signal: AbortSignal) => Promise<Answer<Page<T>>>;

/**
 * One page, or without one all of them: one after another, up to 1,000 entries, within ten seconds. What there is of
 * them when the time is over, or when a later page fails, counts, and that there is more.
 */
export async function list<T>(
  ask: AskForPage<T>,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Answer<Listed<T>>> {
  if (wanted) return await ask(wanted, signal);
  using limit = new TimeLimit(signal, DEADLINE_MS);
  const items: T[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const answer = await ask({ page, perPage: PER_PAGE }, limit.signal).catch(
      (error: unknown): ProviderFailure => {
        signal.throwIfAborted();
        if (!limit.isOver) throw error;
        return {
          kind: 'unavailable',
          message: `The list did not come within ${DEADLINE_MS / 1000} s: ask for a page of it, or try again later`,
        };
      },
    );
    if (answer.kind !== 'ok') return page === 1 ? answer : ok({ items, more: true, total: null });
    items.push(...answer.value.items);
    if (!answer.value.more) return ok({ items, more: false, total: items.length });
  }
  return ok({ items, more: true, total: null });
}

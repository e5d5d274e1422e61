import type { RepositoryView } from '../contract/git.ts';
import type { Repository, RepositorySort } from '../git/git-provider.ts';
import type { Told } from './asking.ts';
import type { Listed } from './listing.ts';
import { repositoryOf } from './view.ts';

type Order = (a: RepositoryView, b: RepositoryView) => number;

/** How repositories of several providers stand in one list. Where that is not known, one provider comes after the other. */
const ORDERS: Readonly<Partial<Record<RepositorySort, Order>>> = {
  pushed: newestFirst,
  updated: newestFirst,
  full_name: (a, b) => a.full_name.localeCompare(b.full_name),
};

/** One list of several providers'. @param sort null leaves one provider's after the other's */
export function merged(
  told: readonly Told<Listed<Repository>>[],
  sort: RepositorySort | null,
): Listed<RepositoryView> {
  const items = told.flatMap(({ provider, value }) =>
    value.items.map((repository) => repositoryOf(provider, repository)),
  );
  const order = sort === null || told.length < 2 ? undefined : ORDERS[sort];
  const totals = told.map(({ value }) => value.total);
  return {
    items: order ? items.toSorted(order) : items,
    more: told.some(({ value }) => value.more),
    total: totals.includes(null) ? null : totals.reduce<number>((sum, total) => sum + (total ?? 0), 0),
  };
}

function newestFirst(a: RepositoryView, b: RepositoryView): number {
  return timeOf(b) - timeOf(a);
}

function timeOf({ pushed_at }: RepositoryView): number {
  return Date.parse(pushed_at ?? '') || 0;
}

import type { Rating } from '../analyzer.ts';

export const LOW: Rating = { risk: 0, reason: '' };

export function medium(reason: string): Rating {
  return { risk: 1, reason };
}

export function high(reason: string): Rating {
  return { risk: 2, reason };
}

/** The riskiest; the first of those that are equal. */
export function worst(ratings: Iterable<Rating>): Rating {
  let found = LOW;
  for (const rating of ratings) if (rating.risk > found.risk) found = rating;
  return found;
}

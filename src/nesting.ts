/** Deeper than any value of use; code that walks a value by recursion is safe up to here. */
export const MAX_DEPTH = 100;

/** Whether JSON of others is nested deeper than {@link MAX_DEPTH}: it can be parsed, and neither cleaned nor written. */
export function isTooDeep(value: unknown, left = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((entry) => isTooDeep(entry, left - 1));
}

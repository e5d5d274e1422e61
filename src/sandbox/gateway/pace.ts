/**
 * Spaces what a sandbox asks of the service, which has one thread for everybody: `burst` requests at once, then
 * `perSecond` of them. Gives the milliseconds that the next one has to wait; nothing is refused.
 * @param now milliseconds
 */
export function pace(
  { perSecond, burst }: { perSecond: number; burst: number },
  now: () => number = () => performance.now(),
): () => number {
  const interval = 1000 / perSecond;
  let due = 0;
  return () => {
    const at = now();
    due = Math.max(due, at) + interval;
    return Math.max(0, due - at - burst * interval);
  };
}

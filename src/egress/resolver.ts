import { lookup } from 'node:dns/promises';

/** From a host name to its addresses; rejects when there are none. Injected in tests. */
export type Resolve = (host: string) => Promise<readonly string[]>;

const KEPT_MS = 30_000;
const KEPT_NAMES = 1_000;

/** The machine's own resolver: its hosts file, search rules and name servers. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
};

/**
 * Remembers answers for 30 s, and asks once for names that are being looked up. A lookup holds one of libuv's four
 * threads, for 5 s when a name server is silent: fifty downloads at once would otherwise take turns.
 */
export function cachedResolve(resolve: Resolve = systemResolve, now: () => number = Date.now): Resolve {
  const kept = new Map<string, { until: number; answer: Promise<readonly string[]> }>();
  return (host) => {
    const known = kept.get(host);
    if (known && known.until > now()) return known.answer;
    const answer = resolve(host);
    const entry = { until: now() + KEPT_MS, answer };
    kept.delete(host);
    kept.set(host, entry);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_NAMES && oldest !== undefined) kept.delete(oldest);
    answer.catch(() => kept.get(host) === entry && kept.delete(host));
    return answer;
  };
}

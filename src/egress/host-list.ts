import { addressBytes } from './address.ts';

/** Hosts that a setting names: `PARLEY_ALLOW_PRIVATE_HOSTS`, `PARLEY_SANDBOX_ALLOW_HOSTS`. */
export interface HostList {
  /** `*` stood in the list. */
  readonly all: boolean;
  /** True when the list names this host (a name, or an address in any spelling) at this port or at every port. */
  names(host: string, port: number): boolean;
}

export type HostListResult = { ok: true; list: HostList } | { ok: false; problem: string };

export const NO_HOSTS: HostList = { all: false, names: () => false };

const NAME = /^(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/**
 * Reads `host[:port]`, separated by commas: `gitea.lan, 10.0.0.5:8080, [fd00::5]:443`, or `*` for every host.
 * Empty text is the empty list.
 */
export function parseHostList(text: string): HostListResult {
  let all = false;
  const entries = new Set<string>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    if (entry === '*') {
      all = true;
      continue;
    }
    const parsed = parseEntry(entry);
    if (!parsed) return { ok: false, problem: `"${entry}" is not host or host:port` };
    entries.add(parsed);
  }
  const names = (host: string, port: number) => {
    const key = canonical(host);
    return entries.has(key) || entries.has(`${key} ${port}`);
  };
  return { ok: true, list: { all, names } };
}

function parseEntry(entry: string): string | null {
  const bare = addressBytes(entry);
  if (bare) return canonical(entry);
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::([0-9]{1,5}))?$/.exec(entry);
  if (!match) return null;
  const host = match[1] ?? match[2] ?? '';
  if (match[1] === undefined ? !NAME.test(canonical(host)) : !addressBytes(host)) return null;
  if (match[3] === undefined) return canonical(host);
  const port = Number(match[3]);
  return port >= 1 && port <= 65_535 ? `${canonical(host)} ${port}` : null;
}

/** One spelling per host: lower case without the final dot, an address as its bytes. */
function canonical(host: string): string {
  return addressBytes(host)?.join('.') ?? host.toLowerCase().replace(/\.$/, '');
}

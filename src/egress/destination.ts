import { isIP, type LookupFunction } from 'node:net';
import { addressBytes } from './address.ts';
import { EgressRefused, type EgressPolicy } from './policy.ts';
import type { Resolve } from './resolver.ts';

/** A host whose addresses were looked up once and found allowed: the only ones to connect to. */
export interface Destination {
  host: string;
  port: number;
  addresses: readonly string[];
  /**
   * For `net.connect`, `tls.connect` and what stands on them: answers with the checked addresses alone. Node does not
   * call it for a host that is an address itself; then that address is what was checked.
   */
  lookup: LookupFunction;
}

/** No such name, or no answer from the name servers: for whoever asked that is the same. */
export class HostNotFound extends Error {
  override readonly name = 'HostNotFound';
  readonly code = 'ENOTFOUND';
}

/** Who may be called, and how names become addresses. */
export interface Egress {
  policy: EgressPolicy;
  resolve: Resolve;
}

const LOOKUP_MS = 15_000;

/**
 * Looks a host up and keeps of its addresses those the policy allows.
 * @param host a name or an address, an IPv6 one with or without brackets
 * @throws EgressRefused when the policy allows none
 * @throws HostNotFound
 */
export async function findDestination(egress: Egress, named: string, port: number): Promise<Destination> {
  const host = named.replace(/^\[(.*)\]$/, '$1');
  const wrong = egress.policy.refuseHost(host, port);
  if (wrong !== null) throw new EgressRefused(host, port, wrong);

  const found = addressBytes(host) ? [host] : await lookUp(egress.resolve, host);
  if (found.length === 0) throw new HostNotFound(`${host} could not be found: no such name, or no answer`);
  const reasons = found.map((address) => egress.policy.refuseAddress(host, port, address));
  const addresses = found.filter((_, i) => reasons[i] === null);
  if (addresses.length === 0) throw new EgressRefused(host, port, reasons[0] ?? '');

  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, options, answer) => {
    if (options.all) answer(null, answers);
    else answer(null, answers[0]?.address ?? '', answers[0]?.family);
  };
  return { host, port, addresses, lookup };
}

async function lookUp(resolve: Resolve, host: string): Promise<readonly string[]> {
  const late = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(() => late.resolve([]), LOOKUP_MS);
  try {
    return await Promise.race([resolve(host), late.promise]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

import { addressBytes, addressKind } from './address.ts';
import type { HostList } from './host-list.ts';

/** Who may be called: asked for the name before it is looked up, then for each address that it stands for. */
export interface EgressPolicy {
  /** Null when the name may be looked up, else why not: one sentence. `host` is a name or a bare address. */
  refuseHost(host: string, port: number): string | null;
  /** Null when this address of that host may be connected to, else why not: one sentence. */
  refuseAddress(host: string, port: number, address: string): string | null;
}

/** A destination that the rules forbid. Its message is for people: which address, and which setting allows it. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  readonly code = 'EGRESS_REFUSED';
  readonly host: string;
  readonly port: number;

  constructor(host: string, port: number, reason: string) {
    super(reason);
    this.host = host;
    this.port = port;
  }
}

/**
 * What the *service* may call: addresses of models, MCP servers, providers, images and webhooks, which users give.
 * Public addresses always; this machine and private networks while `privateAllowed()` (only the user `default`
 * exists), else where `PARLEY_ALLOW_PRIVATE_HOSTS` names them; link-local and cloud metadata never.
 */
export function servicePolicy(rule: {
  privateAllowed: () => boolean;
  allowPrivateHosts: HostList;
}): EgressPolicy {
  const named = rule.allowPrivateHosts;
  return {
    refuseHost: malformed,
    refuseAddress(host, port, address) {
      const kind = addressKind(address);
      const subject = describe(host, address);
      if (kind.reach === 'never') return `${subject} is ${kind.what}, and is never called`;
      if (kind.reach === 'public' || named.all || named.names(host, port) || named.names(address, port))
        return null;
      if (rule.privateAllowed()) return null;
      return `${subject} is ${kind.what}: to allow it, add ${hostAndPort(host, port)} to PARLEY_ALLOW_PRIVATE_HOSTS`;
    },
  };
}

/**
 * What a *sandbox* may reach: public addresses at ports 80 and 443, and what `PARLEY_SANDBOX_ALLOW_HOSTS` names.
 * `*` there opens private networks and every port, but not this machine: the service listens on it, so it must be
 * named.
 */
export function sandboxPolicy(rule: { allowHosts: HostList }): EgressPolicy {
  const named = rule.allowHosts;
  return {
    refuseHost(host, port) {
      const wrong = malformed(host);
      if (wrong || named.names(host, port) || !isLocalName(host)) return wrong;
      return `${host} is a name of this machine or its network: to allow it, add ${hostAndPort(host, port)} to PARLEY_SANDBOX_ALLOW_HOSTS`;
    },
    refuseAddress(host, port, address) {
      const kind = addressKind(address);
      const subject = describe(host, address);
      if (kind.reach === 'never') return `${subject} is ${kind.what}, and is never reached`;
      if (named.names(host, port) || named.names(address, port)) return null;
      const remedy = `to allow it, add ${hostAndPort(host, port)} to PARLEY_SANDBOX_ALLOW_HOSTS`;
      if (kind.reach === 'machine' || (kind.reach === 'network' && !named.all)) {
        return `${subject} is ${kind.what}: ${remedy}`;
      }
      if (port === 80 || port === 443 || named.all) return null;
      return `only ports 80 and 443 are open, not port ${port} of ${subject}: ${remedy}`;
    },
  };
}

const NAME = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$/i;

/**
 * Spellings that no honest URL has after parsing: zones, empty or odd labels, and names whose last label is a number,
 * which resolvers read as an address (`0x7f.1`, `2130706433`).
 */
function malformed(host: string): string | null {
  if (addressBytes(host)) return null;
  const last = host.replace(/\.$/, '').split('.').at(-1) ?? '';
  if (host.length > 253 || !NAME.test(host) || /^(0x[0-9a-f]*|[0-9]+)$/i.test(last)) {
    return `"${host.slice(0, 253)}" is not a host name or a plain address`;
  }
  return null;
}

function isLocalName(host: string): boolean {
  return /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}

function describe(host: string, address: string): string {
  return host === address ? address : `${host} (${address})`;
}

function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

import { isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Where an address leads: anywhere; into a private network; to this very machine; or where nobody is ever let. */
export type Reach = 'public' | 'network' | 'machine' | 'never';

export interface AddressKind {
  reach: Reach;
  /** For sentences: "a loopback address". */
  what: string;
}

const PUBLIC: AddressKind = { reach: 'public', what: 'a public address' };
const OWN: AddressKind = { reach: 'machine', what: 'an address of this machine' };
const LOOPBACK: AddressKind = { reach: 'machine', what: 'a loopback address' };
const PRIVATE: AddressKind = { reach: 'network', what: 'a private address' };
const TRANSLATED: AddressKind = { reach: 'network', what: 'an IPv4 address wrapped in IPv6' };
const LINK_LOCAL: AddressKind = { reach: 'never', what: 'a link-local address' };
const METADATA: AddressKind = { reach: 'never', what: 'a cloud metadata address' };
const MULTICAST: AddressKind = { reach: 'never', what: 'a multicast address' };
const RESERVED: AddressKind = { reach: 'never', what: 'a reserved address' };
const UNREADABLE: AddressKind = { reach: 'never', what: 'not an address' };

type Bytes = readonly number[];
interface Range {
  bytes: Bytes;
  bits: number;
  kind: AddressKind;
  /** Where in an IPv6 address the IPv4 address stands that it carries; its kind counts unless that is public. */
  embeds?: number;
}

/**
 * The first match wins. Not here on purpose: the documentation networks (192.0.2.0/24, 198.51.100.0/24,
 * 203.0.113.0/24, 2001:db8::/32), because closed set-ups number their machines from them.
 * Source: IANA's special-purpose address registries, and the clouds' own pages for the metadata addresses.
 */
const V4: readonly Range[] = [
  ['100.100.100.200/32', METADATA], // Alibaba
  ['168.63.129.16/32', METADATA], // Azure's host agent, which has a public number
  ['192.0.0.192/32', METADATA], // Oracle
  ['169.254.0.0/16', LINK_LOCAL],
  ['0.0.0.0/8', LOOPBACK], // Linux connects 0.0.0.0 to itself
  ['127.0.0.0/8', LOOPBACK],
  ['10.0.0.0/8', PRIVATE],
  ['100.64.0.0/10', PRIVATE],
  ['172.16.0.0/12', PRIVATE],
  ['192.168.0.0/16', PRIVATE],
  ['198.18.0.0/15', PRIVATE],
  ['192.0.0.0/24', RESERVED],
  ['192.88.99.0/24', RESERVED],
  ['224.0.0.0/4', MULTICAST],
  ['240.0.0.0/4', RESERVED],
].map(toRange);

const V6: readonly Range[] = [
  ['::1/128', LOOPBACK],
  ['::/128', LOOPBACK],
  ['fd00:ec2::254/128', METADATA], // AWS
  ['fd20:ce::254/128', METADATA], // Google
  ['64:ff9b::/96', TRANSLATED, 12], // NAT64
  ['2002::/16', TRANSLATED, 2], // 6to4
  ['::ffff:0:0:0/96', TRANSLATED, 12], // SIIT
  ['::/96', TRANSLATED, 12],
  ['64:ff9b:1::/48', RESERVED],
  ['100::/64', RESERVED],
  ['2001:db8::/32', PUBLIC],
  ['2001::/32', RESERVED], // Teredo
  ['fc00::/7', PRIVATE],
  ['fe80::/10', LINK_LOCAL],
  ['fec0::/10', PRIVATE],
  ['ff00::/8', MULTICAST],
  ['2000::/3', PUBLIC],
  ['::/0', RESERVED], // IANA has given out nothing else
].map(toRange);

function toRange(row: (string | AddressKind | number)[]): Range {
  const [cidr, kind, embeds] = row as [string, AddressKind, number?];
  const [address = '', bits = '0'] = cidr.split('/');
  const bytes = addressBytes(address);
  if (!bytes) throw new TypeError(`${cidr} is not a network`);
  return { bytes, bits: Number(bits), kind, ...(embeds === undefined ? {} : { embeds }) };
}

/**
 * The 4 or 16 bytes of an address as `dns.lookup` and `URL` spell them; an IPv4 address mapped into IPv6
 * (`::ffff:127.0.0.1`) becomes its 4 bytes. Null for a name, a zone (`fe80::1%eth0`) or any other spelling.
 */
export function addressBytes(address: string): Bytes | null {
  if (isIPv4(address)) return address.split('.').map(Number);
  if (!isIPv6(address) || address.includes('%')) return null;
  const [head = '', tail] = address.split('::');
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const bytes = [...front, ...Array<number>(16 - front.length - back.length).fill(0), ...back];
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return mapped ? bytes.slice(12) : bytes;
}

function groups(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

function within(bytes: Bytes, range: Range): boolean {
  const whole = range.bits >> 3;
  for (let i = 0; i < whole; i += 1) if (bytes[i] !== range.bytes[i]) return false;
  const rest = range.bits & 7;
  if (rest === 0) return true;
  const mask = (255 << (8 - rest)) & 255;
  return ((bytes[whole] ?? 0) & mask) === ((range.bytes[whole] ?? 0) & mask);
}

/** What kind of address this is; anything that is no plain address is never to be connected to. */
export function addressKind(address: string, own?: ReadonlySet<string>): AddressKind {
  const bytes = addressBytes(address);
  if (!bytes) return UNREADABLE;
  const range = (bytes.length === 4 ? V4 : V6).find((candidate) => within(bytes, candidate));
  let kind = range?.kind ?? PUBLIC;
  if (range?.embeds !== undefined) {
    const inner = addressKind(bytes.slice(range.embeds, range.embeds + 4).join('.'), own);
    if (inner.reach !== 'public') kind = inner;
  }
  // Only a public number is worth the look: the others are refused by their range, with a better word for it.
  return kind.reach === 'public' && (own ?? ownAddresses()).has(bytes.join('.')) ? OWN : kind;
}

/** The addresses of this machine's interfaces now, as their bytes joined by dots. About 50 µs: interfaces come and go. */
export function ownAddresses(): ReadonlySet<string> {
  const own = new Set<string>();
  for (const list of Object.values(networkInterfaces())) {
    for (const { address } of list ?? []) {
      const bytes = addressBytes(address.split('%')[0] ?? '');
      if (bytes) own.add(bytes.join('.'));
    }
  }
  return own;
}

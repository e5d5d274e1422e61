/**
 * One packet of git's protocols: four hexadecimal digits of length, then the data; lengths below 4 are marks
 * (git's Documentation/gitprotocol-common, "pkt-line Format").
 */
export type Packet = { kind: 'data'; data: Buffer } | { kind: 'flush' | 'delimiter' | 'end' };

const MARKS = ['flush', 'delimiter', 'end'] as const;
/** The four digits included. */
const LONGEST = 65_520;

/**
 * The packet that begins at `at`, and where the next one does; null while the bytes end before it does.
 * @throws RangeError for bytes that are none
 */
export function packetAt(bytes: Buffer, at: number): { packet: Packet; next: number } | null {
  if (at + 4 > bytes.length) return null;
  const digits = bytes.toString('latin1', at, at + 4);
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 3;
  const mark = MARKS[length];
  if (mark) return { packet: { kind: mark }, next: at + 4 };
  if (length < 4 || length > LONGEST) throw new RangeError('these bytes are no packet');
  if (at + length > bytes.length) return null;
  return { packet: { kind: 'data', data: bytes.subarray(at + 4, at + length) }, next: at + length };
}

export const FLUSH = '0000';
export const DELIMITER = '0001';

export function packet(data: string | Buffer): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
}

/**
 * The GNU tar format (info tar, "Basic Tar Format"): names as the bytes they are, which ustar and pax are not, of any
 * length, and user ids above two million. GNU tar, bsdtar and busybox read it.
 */

export type EntryType = 'file' | 'directory' | 'symlink' | 'link';

export interface TarEntry {
  /** Relative, without `.` and `..`, without a slash at the end. */
  path: Buffer;
  type: EntryType;
  /** The low twelve bits. */
  mode: number;
  uid: number;
  gid: number;
  /** Bytes of content; 0 but for files. */
  size: number;
  /** Seconds since 1970. */
  mtime: number;
  /** What a link says: of a symlink its text, of a hard link the path of an earlier entry. Else empty. */
  target: Buffer;
}

export const BLOCK = 512;
/** Two empty blocks. */
export const END_OF_ARCHIVE: Buffer = Buffer.alloc(2 * BLOCK);

const FLAGS: Readonly<Record<EntryType, string>> = { file: '0', link: '1', symlink: '2', directory: '5' };
const TYPES = new Map<string, EntryType>([
  ['\0', 'file'],
  ...Object.entries(FLAGS).map(([type, flag]): [string, EntryType] => [flag, type as EntryType]),
]);
const LONG_NAME = 'L';
const LONG_TARGET = 'K';
const LONG_LABEL = Buffer.from('././@LongLink');
/** A path of the kernel's has at most 4,096 bytes; a symlink's text too. */
const LONGEST = 8 * BLOCK;

/** Where each field stands and how long it is. */
const FIELD = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  target: [157, 100],
  magic: [257, 8],
} as const satisfies Record<string, readonly [number, number]>;

/** Bytes that fill the last block of a content of that size. */
export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** The header of an entry, the records of its long names before it. */
export function encodeHeader(entry: TarEntry): Buffer {
  const name = entry.type === 'directory' ? Buffer.concat([entry.path, Buffer.from('/')]) : entry.path;
  const parts: Buffer[] = [];
  if (name.length > FIELD.name[1]) parts.push(longRecord(LONG_NAME, name));
  if (entry.target.length > FIELD.target[1]) parts.push(longRecord(LONG_TARGET, entry.target));
  parts.push(block({ ...entry, path: name }, FLAGS[entry.type]));
  return Buffer.concat(parts);
}

function longRecord(flag: string, text: Buffer): Buffer {
  const size = text.length + 1;
  const head = { path: LONG_LABEL, mode: 0, uid: 0, gid: 0, size, mtime: 0, target: Buffer.alloc(0) };
  return Buffer.concat([block(head, flag), text, Buffer.alloc(1 + paddingOf(size))]);
}

function block(entry: Omit<TarEntry, 'type'>, flag: string): Buffer {
  const header = Buffer.alloc(BLOCK);
  entry.path.copy(header, FIELD.name[0], 0, FIELD.name[1]);
  for (const field of ['mode', 'uid', 'gid', 'size', 'mtime'] as const) {
    const [at, length] = FIELD[field];
    number(entry[field], length).copy(header, at);
  }
  header.write(flag, FIELD.type[0], 'latin1');
  entry.target.copy(header, FIELD.target[0], 0, FIELD.target[1]);
  header.write('ustar  ', FIELD.magic[0], 'latin1');
  header.write(
    `${checksum(header).toString(8).padStart(6, '0')}\0 `,
    FIELD.checksum[0],
    FIELD.checksum[1],
    'latin1',
  );
  return header;
}

/** Octal digits; where those do not suffice, the bytes of the number after one with the highest bit. */
function number(value: number, length: number): Buffer {
  const digits = Math.max(0, Math.trunc(value)).toString(8);
  if (digits.length < length) return Buffer.from(`${digits.padStart(length - 1, '0')}\0`, 'latin1');
  const bytes = Buffer.alloc(length);
  bytes.writeBigUInt64BE(BigInt(Math.trunc(value)), length - 8);
  bytes.writeUInt8(0x80 | bytes.readUInt8(0), 0);
  return bytes;
}

/** The sum of the header's bytes, its own field counted as spaces. */
function checksum(header: Buffer): number {
  const [at, length] = FIELD.checksum;
  let sum = length * 0x20;
  for (const [index, byte] of header.entries()) if (index < at || index >= at + length) sum += byte;
  return sum;
}

/** A block as it was read: an entry, a long name for the next one, or the end. */
export type Header =
  | { kind: 'entry'; entry: TarEntry }
  | { kind: 'long'; of: 'path' | 'target'; size: number }
  | { kind: 'end' };

/** Thrown for bytes that are no archive of ours. */
export class NotAnArchive extends Error {
  override readonly name = 'NotAnArchive';
}

/** @throws NotAnArchive */
export function decodeHeader(header: Buffer): Header {
  if (header.every((byte) => byte === 0)) return { kind: 'end' };
  const field = (name: keyof typeof FIELD): Buffer =>
    header.subarray(FIELD[name][0], FIELD[name][0] + FIELD[name][1]);
  const value = (name: keyof typeof FIELD): number => decodeNumber(field(name));
  if (value('checksum') !== checksum(header)) throw new NotAnArchive('a header is damaged');
  const flag = field('type').toString('latin1');
  const size = value('size');
  if (flag === LONG_NAME || flag === LONG_TARGET) {
    if (size > LONGEST + 1) throw new NotAnArchive('a name is too long');
    return { kind: 'long', of: flag === LONG_NAME ? 'path' : 'target', size };
  }
  const type = TYPES.get(flag);
  if (type === undefined) throw new NotAnArchive(`it has an entry of the unknown type "${flag}"`);
  return {
    kind: 'entry',
    entry: {
      path: untilNul(field('name')),
      type,
      mode: value('mode') & 0o7777,
      uid: value('uid'),
      gid: value('gid'),
      size: type === 'file' ? size : 0,
      mtime: value('mtime'),
      target: untilNul(field('target')),
    },
  };
}

function decodeNumber(field: Buffer): number {
  const first = field.at(0) ?? 0;
  if ((first & 0x80) !== 0) {
    if (first === 0xff) return 0;
    const bytes = Buffer.from(field);
    bytes.writeUInt8(first & 0x7f, 0);
    return safe(Number(BigInt(`0x${bytes.toString('hex')}`)));
  }
  const digits = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .trim();
  if (!/^[0-7]*$/.test(digits)) throw new NotAnArchive('a header has a number that is none');
  return safe(digits === '' ? 0 : Number.parseInt(digits, 8));
}

function safe(value: number): number {
  if (!Number.isSafeInteger(value)) throw new NotAnArchive('a header has a number beyond all bounds');
  return value;
}

/** What stands before the first NUL. */
export function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return Buffer.from(end === -1 ? bytes : bytes.subarray(0, end));
}

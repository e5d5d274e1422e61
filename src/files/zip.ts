import { crc32, createDeflateRaw, deflateRawSync } from 'node:zlib';
import { Readable } from 'node:stream';

export interface ZipEntry {
  /** Parts joined by "/"; of a directory with a "/" at the end. */
  path: string;
  /** As stat(2) has it, the kind of file included. */
  mode: number;
  mtime: Date;
  /** What `content` gives at most, in bytes. */
  size: number;
  /** Read when its turn comes, once. */
  content: AsyncIterable<Uint8Array>;
}

/** Up to here a file is compressed in one go: streams cost more than the work. */
const SMALL = 32 * 1024;
/** What is handed on at once, as thousands of small files would otherwise cost as many writes. */
const BLOCK = 64 * 1024;
/** A file that may come near the bound of 32 bits is described by 64. */
const LARGE = 4_000_000_000;
const MAX_32 = 0xffff_ffff;
const MAX_16 = 0xffff;

const STORED = 0;
const DEFLATED = 8;
/** Names are UTF-8; with the other bit sizes and sum follow the content. */
const UTF_8 = 0x0800;
const SIZES_FOLLOW = 0x0008;
/** Of APPNOTE 4.5, with ZIP64; made by Unix, whose modes the attributes then are. */
const VERSION = 45;
const MADE_BY = (3 << 8) | VERSION;

/**
 * A zip (APPNOTE 6.3.9, with ZIP64) of any number of entries of any size, made as it is read: nothing is kept but one
 * block of content, and about a hundred bytes an entry for the directory at the end. `comment` is asked for there.
 */
export async function* zip(
  entries: AsyncIterable<ZipEntry>,
  comment: () => string = () => '',
): AsyncGenerator<Buffer> {
  let block: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces(entries, comment)) {
    block.push(piece);
    length += piece.length;
    if (length < BLOCK) continue;
    yield Buffer.concat(block);
    [block, length] = [[], 0];
  }
  yield Buffer.concat(block);
}

async function* pieces(entries: AsyncIterable<ZipEntry>, comment: () => string): AsyncGenerator<Buffer> {
  const directory = new Pages();
  let offset = 0;
  let count = 0;
  for await (const entry of entries) {
    const at = offset;
    const head = headOf(entry);
    let sums: Sums = { crc: 0, packed: 0, plain: 0 };
    for await (const piece of entry.size <= SMALL ? whole(entry, head) : streamed(entry, head)) {
      if (Buffer.isBuffer(piece)) {
        offset += piece.length;
        yield piece;
      } else {
        sums = piece;
      }
    }
    directory.add(directoryRecord(head, sums, at));
    count += 1;
  }
  yield* directory.pages();
  yield endOfDirectory(count, directory.length, offset, comment());
}

interface Head {
  name: Buffer;
  method: number;
  flags: number;
  /** DOS time and date, and what says the same in UTC. */
  time: Buffer;
  stamp: Buffer;
  mode: number;
  large: boolean;
}

interface Sums {
  crc: number;
  packed: number;
  plain: number;
}

function headOf({ path, mode, mtime, size }: ZipEntry): Head {
  const isFile = (mode & 0o170000) === 0o100000;
  return {
    name: Buffer.from(path),
    method: isFile && size > 0 ? DEFLATED : STORED,
    flags: UTF_8 | (size > SMALL ? SIZES_FOLLOW : 0),
    time: dosTime(mtime),
    stamp: timeStamp(mtime),
    mode,
    large: size > LARGE,
  };
}

async function* whole(entry: ZipEntry, head: Head): AsyncGenerator<Buffer | Sums> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry.content) chunks.push(chunk);
  const plain = Buffer.concat(chunks);
  const packed = head.method === DEFLATED ? deflateRawSync(plain) : plain;
  const sums = { crc: crc32(plain), packed: packed.length, plain: plain.length };
  yield localHeader(head, sums);
  yield packed;
  yield sums;
}

async function* streamed(entry: ZipEntry, head: Head): AsyncGenerator<Buffer | Sums> {
  const sums = { crc: 0, packed: 0, plain: 0 };
  yield localHeader(head, sums);
  const count = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of entry.content) {
      sums.crc = crc32(chunk, sums.crc);
      sums.plain += chunk.length;
      yield chunk;
    }
  };
  const source = Readable.from(count(), { objectMode: false });
  const deflate = createDeflateRaw();
  source.on('error', (error) => deflate.destroy(error));
  try {
    for await (const chunk of source.pipe(deflate)) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError('deflate gave no bytes');
      sums.packed += chunk.length;
      yield chunk;
    }
  } finally {
    source.destroy();
  }
  yield dataDescriptor(sums, head.large);
  yield sums;
}

function localHeader(head: Head, sums: Sums): Buffer {
  const extra = head.large ? Buffer.concat([zip64Extra(0, 0), head.stamp]) : head.stamp;
  const size = (value: number): number => (head.large ? MAX_32 : value);
  const fixed = Buffer.alloc(30);
  fixed.writeUInt32LE(0x0403_4b50, 0);
  fixed.writeUInt16LE(VERSION, 4);
  fixed.writeUInt16LE(head.flags, 6);
  fixed.writeUInt16LE(head.method, 8);
  head.time.copy(fixed, 10);
  fixed.writeUInt32LE(sums.crc, 14);
  fixed.writeUInt32LE(size(sums.packed), 18);
  fixed.writeUInt32LE(size(sums.plain), 22);
  fixed.writeUInt16LE(head.name.length, 26);
  fixed.writeUInt16LE(extra.length, 28);
  return Buffer.concat([fixed, head.name, extra]);
}

function dataDescriptor({ crc, packed, plain }: Sums, large: boolean): Buffer {
  const bytes = Buffer.alloc(large ? 24 : 16);
  bytes.writeUInt32LE(0x0807_4b50, 0);
  bytes.writeUInt32LE(crc, 4);
  if (large) {
    bytes.writeBigUInt64LE(BigInt(packed), 8);
    bytes.writeBigUInt64LE(BigInt(plain), 16);
  } else {
    bytes.writeUInt32LE(packed, 8);
    bytes.writeUInt32LE(plain, 12);
  }
  return bytes;
}

function directoryRecord(head: Head, { crc, packed, plain }: Sums, offset: number): Buffer {
  const wide = head.large || offset >= MAX_32;
  const extra = wide ? Buffer.concat([zip64Extra(plain, packed, offset), head.stamp]) : head.stamp;
  const isDirectory = (head.mode & 0o170000) === 0o040000;
  const fixed = Buffer.alloc(46);
  fixed.writeUInt32LE(0x0201_4b50, 0);
  fixed.writeUInt16LE(MADE_BY, 4);
  fixed.writeUInt16LE(VERSION, 6);
  fixed.writeUInt16LE(head.flags, 8);
  fixed.writeUInt16LE(head.method, 10);
  head.time.copy(fixed, 12);
  fixed.writeUInt32LE(crc, 16);
  fixed.writeUInt32LE(wide ? MAX_32 : packed, 20);
  fixed.writeUInt32LE(wide ? MAX_32 : plain, 24);
  fixed.writeUInt16LE(head.name.length, 28);
  fixed.writeUInt16LE(extra.length, 30);
  // The Unix mode above, the directory bit of DOS below.
  fixed.writeUInt32LE(head.mode * 0x1_0000 + (isDirectory ? 0x10 : 0), 38);
  fixed.writeUInt32LE(wide ? MAX_32 : offset, 42);
  return Buffer.concat([fixed, head.name, extra]);
}

function endOfDirectory(count: number, size: number, offset: number, comment: string): Buffer {
  const wide = count >= MAX_16 || size >= MAX_32 || offset >= MAX_32;
  const text = Buffer.from(comment).subarray(0, MAX_16);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  end.writeUInt16LE(Math.min(count, MAX_16), 8);
  end.writeUInt16LE(Math.min(count, MAX_16), 10);
  end.writeUInt32LE(Math.min(size, MAX_32), 12);
  end.writeUInt32LE(Math.min(offset, MAX_32), 16);
  end.writeUInt16LE(text.length, 20);
  if (!wide) return Buffer.concat([end, text]);
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x0606_4b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(MADE_BY, 12);
  record.writeUInt16LE(VERSION, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(size), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x0706_4b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + size), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator, end, text]);
}

function zip64Extra(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 + 8 * values.length);
  bytes.writeUInt16LE(0x0001, 0);
  bytes.writeUInt16LE(8 * values.length, 2);
  for (const [n, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 4 + 8 * n);
  return bytes;
}

/** Two seconds exact and without a zone; years before 1980 and after 2107 are not to be had. */
function dosTime(at: Date): Buffer {
  const year = Math.min(Math.max(at.getUTCFullYear(), 1980), 2107);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(
    (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | Math.floor(at.getUTCSeconds() / 2),
    0,
  );
  bytes.writeUInt16LE(((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(), 2);
  return bytes;
}

/** Info-ZIP's extended time stamp: seconds since 1970, as far as 32 bits go. */
function timeStamp(at: Date): Buffer {
  const seconds = Math.min(Math.max(Math.floor(at.getTime() / 1000), -(2 ** 31)), 2 ** 31 - 1);
  const bytes = Buffer.alloc(9);
  bytes.writeUInt16LE(0x5455, 0);
  bytes.writeUInt16LE(5, 2);
  bytes.writeUInt8(1, 4);
  bytes.writeInt32LE(seconds, 5);
  return bytes;
}

const PAGE = 256 * 1024;

/** Bytes one after the other, without an object for each record. */
class Pages {
  readonly #full: Buffer[] = [];
  #page = Buffer.allocUnsafe(PAGE);
  #used = 0;
  length = 0;

  add(record: Buffer): void {
    this.length += record.length;
    if (this.#used + record.length > this.#page.length) {
      this.#full.push(this.#page.subarray(0, this.#used));
      this.#page = Buffer.allocUnsafe(Math.max(PAGE, record.length));
      this.#used = 0;
    }
    this.#used += record.copy(this.#page, this.#used);
  }

  pages(): readonly Buffer[] {
    return [...this.#full, this.#page.subarray(0, this.#used)];
  }
}

import { BLOCK, decodeHeader, NotAnArchive, paddingOf, type TarEntry, untilNul } from './tar-format.ts';

export interface ReadEntry {
  entry: TarEntry;
  /** Its bytes, to be read before the next entry is asked for; what is left is passed over. */
  content: AsyncIterable<Buffer>;
}

/** The entries of an archive as they come. Holds one chunk in memory. @throws NotAnArchive */
export async function* readTar(stream: AsyncIterable<Buffer>): AsyncGenerator<ReadEntry> {
  const source = new Source(stream);
  const long: { path?: Buffer; target?: Buffer } = {};
  for (;;) {
    const header = decodeHeader(await source.read(BLOCK));
    if (header.kind === 'end') return await source.drain();
    if (header.kind === 'long') {
      long[header.of] = untilNul(await source.read(header.size));
      await source.read(paddingOf(header.size));
      continue;
    }
    const { entry } = header;
    const named = { ...entry, path: long.path ?? entry.path, target: long.target ?? entry.target };
    delete long.path;
    delete long.target;
    const path = named.path.at(-1) === SLASH ? named.path.subarray(0, -1) : named.path;
    const content = source.take(entry.size);
    yield { entry: { ...named, path }, content };
    for await (const _ of content);
    await source.read(paddingOf(entry.size));
  }
}

const SLASH = 0x2f;

/** Bytes of a stream by number instead of by chunk. */
class Source {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  async read(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.take(length)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** May be iterated more than once: each goes on where the last one left. */
  take(length: number): AsyncIterable<Buffer> {
    let left = length;
    const next = async (): Promise<IteratorResult<Buffer>> => {
      if (left === 0) return { done: true, value: undefined };
      const part = await this.#some(left);
      left -= part.length;
      return { done: false, value: part };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  /** Reads to the end, so that what was compressed is seen to be whole. */
  async drain(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }

  async #some(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new NotAnArchive('it ends in the middle');
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}

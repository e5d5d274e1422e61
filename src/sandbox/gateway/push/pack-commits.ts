import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInflate, inflateSync } from 'node:zlib';
import { applyDelta } from './delta.ts';

/** Commits by their ids, with the ids of their parents. */
export type Commits = Map<string, readonly string[]>;

type Entry = {
  /** 1 commit, 2 tree, 3 blob, 4 tag, 6 a delta to what lies at an offset, 7 one to what has an id. */
  type: number;
  /** Of what is packed, in bytes. */
  size: number;
  /** Where the deflated data begins. */
  dataAt: number;
  base: number | string | null;
};

const COMMIT = 1;
const OFFSET_DELTA = 6;
const ID_DELTA = 7;
const HEADER_BYTES = 12;
/** Of type, size and base of an entry. */
const ENTRY_BYTES = 64;
/** What is inflated in one go. A commit is longer only when someone tries to. */
const IN_ONE_GO = 256 * 1024;
/** What of commits is kept, in bytes: of each its content, and what it takes to find it. Beyond it nothing new is. */
const KEPT_BYTES = 64 * 1024 * 1024;
const EACH_BYTES = 1024;
/** What of one pack is inflated: a program inside decides how long what it packs becomes. */
const INFLATED_BYTES = 16 * 1024 ** 3;

/**
 * Finds the commits in a pack while it streams by (git's Documentation/gitformat-pack). Each is known by the hash of
 * what was read: whatever a pack holds, no commit gets parents that its id does not stand for. What it cannot read it
 * passes over, which only means that there are commits it does not know.
 */
export class PackCommits {
  readonly commits: Commits = new Map();
  readonly #hash: 'sha1' | 'sha256';
  readonly #byOffset = new Map<number, Buffer>();
  readonly #byId = new Map<string, Buffer>();
  #kept = 0;
  #inflated = 0;
  #bytes: Buffer = Buffer.alloc(0);
  /** Where in the pack the bytes begin. */
  #offset = 0;
  #left: number | null = null;
  #broken = false;
  /** The rest of an object that is too long to be inflated in one go. */
  #skipping: Skip | null = null;

  constructor(hash: 'sha1' | 'sha256') {
    this.#hash = hash;
  }

  /** Takes the next bytes; resolves when it has room for more. Never rejects. */
  async write(chunk: Buffer): Promise<void> {
    if (this.#broken || this.#left === 0) return;
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    await this.#read(false);
  }

  async end(): Promise<void> {
    if (!this.#broken) await this.#read(true);
  }

  async #read(last: boolean): Promise<void> {
    try {
      while (await this.#step(last));
    } catch {
      this.#broken = true;
    }
    if (this.#broken) this.#bytes = Buffer.alloc(0);
  }

  /** Whether there may be more to read in what is here. */
  async #step(last: boolean): Promise<boolean> {
    if (this.#left === null) return this.#header();
    if (this.#left === 0) return false;
    if (this.#skipping) return await this.#skip();
    const entry = entryAt(this.#bytes, this.#offset, this.#hash);
    if (!entry) {
      if (last || this.#bytes.length > ENTRY_BYTES) this.#broken = true;
      return false;
    }
    this.#inflated += entry.size;
    if (this.#inflated > INFLATED_BYTES) throw new RangeError('too much to inflate');
    if (entry.size > IN_ONE_GO) {
      this.#skipping = new Skip(entry.size);
      this.#advance(entry.dataAt);
      return true;
    }
    const most = entry.dataAt + deflated(entry.size);
    if (this.#bytes.length < most && !last) return false;
    const { buffer, engine } = inflateSync(this.#bytes.subarray(entry.dataAt, most), {
      info: true,
      chunkSize: Math.max(64, entry.size + 1),
      maxOutputLength: entry.size + 1,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    if (buffer.length !== entry.size) this.#broken = true;
    else this.#take(entry, buffer);
    this.#advance(entry.dataAt + engine.bytesWritten);
    this.#left -= 1;
    return !this.#broken;
  }

  #header(): boolean {
    if (this.#bytes.length < HEADER_BYTES) return false;
    const version = this.#bytes.readUInt32BE(4);
    this.#broken = this.#bytes.toString('latin1', 0, 4) !== 'PACK' || (version !== 2 && version !== 3);
    this.#left = this.#bytes.readUInt32BE(8);
    this.#advance(HEADER_BYTES);
    return !this.#broken;
  }

  async #skip(): Promise<boolean> {
    if (!this.#skipping || this.#bytes.length === 0) return false;
    const { used, ended } = await this.#skipping.write(this.#bytes);
    this.#advance(used);
    if (!ended) return false;
    this.#skipping = null;
    this.#left = (this.#left ?? 0) - 1;
    return true;
  }

  #advance(bytes: number): void {
    this.#bytes = this.#bytes.subarray(bytes);
    this.#offset += bytes;
  }

  #take({ type, base }: Entry, data: Buffer): void {
    const content = type === COMMIT ? data : this.#built(base, data);
    if (!content) return;
    const header = `commit ${content.length}\0`;
    const id = createHash(this.#hash).update(header).update(content).digest('hex');
    this.#kept += content.length + EACH_BYTES;
    if (this.#kept > KEPT_BYTES) return;
    this.#byOffset.set(this.#offset, content);
    this.#byId.set(id, content);
    this.commits.set(id, parentsIn(content));
  }

  /** Null for what is no delta, or one to something that is no commit: what is built from a commit is one. */
  #built(base: number | string | null, delta: Buffer): Buffer | null {
    const found = typeof base === 'number' ? this.#byOffset.get(base) : this.#byId.get(base ?? '');
    return found ? applyDelta(found, delta, IN_ONE_GO) : null;
  }
}

/** Null while the bytes end before it does. @throws RangeError for what is no entry */
function entryAt(bytes: Buffer, offset: number, hash: 'sha1' | 'sha256'): Entry | null {
  const first = bytes[0];
  if (first === undefined) return null;
  const type = (first >> 4) & 7;
  let [size, at, byte] = [first & 15, 1, first];
  for (let shift = 4; byte >= 0x80; shift += 7, at += 1) {
    byte = bytes[at] ?? -1;
    if (byte < 0) return null;
    if (shift > 46) throw new RangeError('the size is no number');
    size += (byte & 0x7f) * 2 ** shift;
  }
  if (type === ID_DELTA) {
    const dataAt = at + (hash === 'sha1' ? 20 : 32);
    return bytes.length < dataAt ? null : { type, size, dataAt, base: bytes.toString('hex', at, dataAt) };
  }
  if (type !== OFFSET_DELTA) return { type, size, dataAt: at, base: null };
  let back = -1;
  do {
    byte = bytes[at] ?? -1;
    if (byte < 0) return null;
    if (back > 2 ** 45) throw new RangeError('the offset is no number');
    back = (back + 1) * 128 + (byte & 0x7f);
    at += 1;
  } while (byte >= 0x80);
  return { type, size, dataAt: at, base: offset - back };
}

/** The most that data of this length takes, as zlib deflates it. */
function deflated(size: number): number {
  return size + Math.ceil(size / 1000) + 64;
}

/** As git reads them: right after the tree and nowhere else, or a line put in further below would pass for one. */
function parentsIn(commit: Buffer): string[] {
  const [, lines = ''] = /^tree [0-9a-f]+\n((?:parent [0-9a-f]+\n)*)/.exec(commit.toString('latin1')) ?? [];
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice('parent '.length));
}

/** Inflates an object to find out where it ends. */
class Skip {
  readonly #inflate = createInflate();
  readonly #end = once(this.#inflate, 'end');
  #ended = false;
  #before = 0;

  /** @param size of the object in bytes: what is longer is none */
  constructor(size: number) {
    let inflated = 0;
    this.#inflate.on('data', (data: Buffer) => {
      inflated += data.length;
      if (inflated > size) this.#inflate.destroy(new RangeError('longer than it says'));
    });
    this.#end.then(
      () => (this.#ended = true),
      () => {},
    );
  }

  /** @returns how many of the bytes belong to the object */
  async write(bytes: Buffer): Promise<{ used: number; ended: boolean }> {
    const written = new Promise<void>((resolve, reject) => {
      this.#inflate.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    await Promise.race([written, this.#end]);
    // That it was the end is told only after the bytes were taken.
    await new Promise((resolve) => setImmediate(resolve));
    const used = this.#inflate.bytesWritten - this.#before;
    this.#before += used;
    return { used, ended: this.#ended };
  }
}

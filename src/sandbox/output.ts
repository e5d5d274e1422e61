const MEGABYTE = 1024 * 1024;

/**
 * Collects a command's output in bounded memory: the first and the last half of `cap` bytes. What falls out of the
 * middle is counted and said in {@link CappedOutput.text}.
 */
export class CappedOutput {
  readonly #headCap: number;
  readonly #tailCap: number;
  #head: Buffer = Buffer.alloc(0);
  #headLength = 0;
  /** A ring: the next byte goes to `#past % #tailCap`, once it has grown to its full size. */
  #tail: Buffer = Buffer.alloc(0);
  /** Bytes that went past the head. */
  #past = 0;

  constructor(cap: number = MEGABYTE) {
    this.#headCap = Math.ceil(cap / 2);
    this.#tailCap = Math.floor(cap / 2);
  }

  /** Bytes seen, kept or not. */
  get length(): number {
    return this.#headLength + this.#past;
  }

  /** Takes a copy of what it keeps. */
  push(chunk: Uint8Array): void {
    const room = this.#headCap - this.#headLength;
    if (room > 0) this.#pushHead(chunk.subarray(0, room));
    if (chunk.length > room) this.#pushTail(chunk.subarray(room));
  }

  /**
   * The output as text: UTF-8, a character at the cut's edges left out rather than halved, other invalid bytes as U+FFFD.
   */
  text(): string {
    const head = this.#head.subarray(0, this.#headLength);
    if (this.#past <= this.#tailCap) {
      return decode(Buffer.concat([head, this.#tail.subarray(0, this.#past)]));
    }
    const at = this.#past % this.#tailCap;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    const before = head.subarray(0, endOfWholeCharacters(head));
    const after = tail.subarray(startOfWholeCharacters(tail));
    const cut = this.length - before.length - after.length;
    return `${decode(before)}\n[... ${cut} bytes of output cut out here ...]\n${decode(after)}`;
  }

  #pushHead(chunk: Uint8Array): void {
    const wanted = this.#headLength + chunk.length;
    this.#head = grown(this.#head, wanted, this.#headCap);
    this.#head.set(chunk, this.#headLength);
    this.#headLength = wanted;
  }

  #pushTail(chunk: Uint8Array): void {
    if (this.#tailCap === 0) {
      this.#past += chunk.length;
      return;
    }
    this.#tail = grown(this.#tail, Math.min(this.#past + chunk.length, this.#tailCap), this.#tailCap);
    const kept = chunk.subarray(Math.max(0, chunk.length - this.#tailCap));
    const at = (this.#past + chunk.length - kept.length) % this.#tailCap;
    const first = kept.subarray(0, this.#tailCap - at);
    this.#tail.set(first, at);
    this.#tail.set(kept.subarray(first.length), 0);
    this.#past += chunk.length;
  }
}

/** Doubles up to `cap`, so that most commands, which print little, cost little. */
function grown(buffer: Buffer, wanted: number, cap: number): Buffer {
  if (wanted <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(cap, Math.max(wanted, buffer.length * 2, 4096)));
  buffer.copy(larger);
  return larger;
}

// `ignoreBOM` means: leave it in.
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function startOfWholeCharacters(bytes: Uint8Array): number {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at += 1;
  return at;
}

/** Index behind the last whole character: a sequence begun but not finished at the end is left out. */
function endOfWholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

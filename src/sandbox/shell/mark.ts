/** The runner's end as the mark in its output tells it. */
export interface Mark {
  exitCode: number;
  /** Null when the shell ended without saving its state (killed, replaced by `exec`). */
  cwd: string | null;
}

export interface Scanned {
  /** What belongs to the command's output. */
  output: Buffer;
  mark: Mark | null;
}

// Code and path together; the supervisor cuts the path long before.
const LONGEST_TAIL = 8192;
const NOTHING = Buffer.alloc(0);

/**
 * Finds the end mark `\x1e NONCE SP code SP cwd NUL` (no space before NONCE) in a stream of chunks. A chunk's
 * tail that could be the beginning of the mark is held back until the next chunk decides.
 */
export class MarkScanner {
  readonly #pattern: Buffer;
  #held: Buffer = NOTHING;

  constructor(nonce: string) {
    this.#pattern = Buffer.from(`\x1e${nonce} `);
  }

  push(chunk: Buffer): Scanned {
    const data = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    const at = data.indexOf(this.#pattern);
    if (at === -1) {
      const keep = this.#startOfPossibleMark(data);
      // A copy, because a short view would keep the whole chunk alive.
      if (keep < data.length) this.#held = Buffer.from(data.subarray(keep));
      return { output: data.subarray(0, keep), mark: null };
    }
    const output = data.subarray(0, at);
    const tail = data.subarray(at + this.#pattern.length);
    const end = tail.indexOf(0);
    if (end === -1 && tail.length < LONGEST_TAIL) {
      this.#held = Buffer.from(data.subarray(at));
      return { output, mark: null };
    }
    return { output, mark: parseTail(tail.subarray(0, end === -1 ? LONGEST_TAIL : end)) };
  }

  /** What was held back, when the stream ends without a mark. */
  flush(): Buffer {
    const held = this.#held;
    this.#held = NOTHING;
    return held;
  }

  #startOfPossibleMark(data: Buffer): number {
    const at = data.lastIndexOf(0x1e);
    if (at === -1) return data.length;
    const tail = data.subarray(at);
    const fits = tail.length < this.#pattern.length && tail.equals(this.#pattern.subarray(0, tail.length));
    return fits ? at : data.length;
  }
}

function parseTail(tail: Buffer): Mark {
  const [, code = '-1', cwd = ''] = /^(\d{1,3}) (.*)$/s.exec(tail.toString()) ?? [];
  return { exitCode: Number(code), cwd: cwd === '' ? null : cwd };
}

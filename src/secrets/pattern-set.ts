import { BACKSLASH, END, PERCENT, READINGS, Unescape } from './unescape.ts';

/** No pattern stands there. */
export const NONE = 0;
/** The text ends within what may be a pattern. */
export const OPEN = Infinity;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const TAB = 0x09;
const SPACE = 0x20;
const PLUS = 0x2b;
/** Line ends and indentation that are stepped over. Bounded, so that a stream holds back little. */
const WIDEST_GAP = 80;
const MOST_LINE_ENDS = 2;

/**
 * Finds any of some hundred texts in one pass, however their characters are escaped, and across line ends (base64
 * comes in lines, a terminal changes line ends, YAML indents them).
 *
 * A table of flags by two characters rules out nearly every position at the cost of one look; from the others on, all
 * patterns with that beginning are followed together.
 */
export class PatternSet {
  readonly #flags = new Uint8Array(1 << 16);
  readonly #byFirst = new Map<number, string[]>();

  /** @param patterns of at least two characters, without line ends */
  constructor(patterns: Iterable<string>) {
    for (const pattern of new Set(patterns)) {
      const first = pattern.charCodeAt(0);
      const second = pattern.charCodeAt(1);
      const nexts = [second, PERCENT, BACKSLASH, NEWLINE, RETURN, ...(second === SPACE ? [PLUS] : [])];
      for (const next of nexts) this.#flags[pair(first, next)] = 1;
      const same = this.#byFirst.get(first);
      if (same) same.push(pattern);
      else this.#byFirst.set(first, [pattern]);
    }
  }

  /** @param whole whether the text ends where it ends; else more of it may follow */
  in(text: string, whole: boolean): Search {
    return new Search(text, whole, this.#flags, this.#byFirst);
  }
}

class Search {
  readonly #text: string;
  /** What it means that the text ends in the middle of a pattern. */
  readonly #cut: number;
  readonly #flags: Uint8Array;
  readonly #byFirst: ReadonlyMap<number, readonly string[]>;
  readonly #plain: Unescape;
  readonly #escaped: readonly Unescape[];
  #sawEscape = false;

  constructor(
    text: string,
    whole: boolean,
    flags: Uint8Array,
    byFirst: ReadonlyMap<number, readonly string[]>,
  ) {
    this.#text = text;
    this.#cut = whole ? NONE : OPEN;
    this.#flags = flags;
    this.#byFirst = byFirst;
    this.#plain = new Unescape(text, []);
    this.#escaped = READINGS.map((escapes) => new Unescape(text, escapes));
  }

  /** Where the longest pattern that begins here ends; or {@link NONE}, or {@link OPEN}. */
  endAt(start: number): number {
    const first = this.#text.charCodeAt(start);
    const mayBegin =
      first === PERCENT ||
      first === BACKSLASH ||
      start + 1 === this.#text.length ||
      this.#flags[pair(first, this.#text.charCodeAt(start + 1))] === 1;
    if (!mayBegin) return NONE;

    this.#sawEscape = false;
    let longest = this.#follow(start, this.#plain);
    if (this.#sawEscape) {
      for (const reading of this.#escaped) longest = Math.max(longest, this.#follow(start, reading));
    }
    return longest;
  }

  /** All patterns at once, dropping those that differ. */
  #follow(start: number, reading: Unescape): number {
    const first = this.#next(start, reading);
    if (first === END) return this.#cut;
    const begun = this.#byFirst.get(first);
    if (!begun) return NONE;
    let alive = begun;
    let longest: number = NONE;
    const gap = new Gap();
    for (let n = 1; alive.length > 0;) {
      const code = this.#next(reading.end, reading);
      if (code === END) return Math.max(longest, this.#cut);
      const matching = alive.filter((pattern) => matches(pattern.charCodeAt(n), code));
      if (matching.length > 0) {
        n += 1;
        gap.close();
        if (matching.some((pattern) => pattern.length === n)) longest = reading.end;
        alive = matching.filter((pattern) => pattern.length > n);
      } else if (!gap.takes(code)) {
        break;
      }
    }
    return longest;
  }

  #next(at: number, reading: Unescape): number {
    const code = reading.read(at);
    if (code === PERCENT || code === BACKSLASH) this.#sawEscape = true;
    return code;
  }
}

function matches(wanted: number, code: number): boolean {
  return code === wanted || (code === PLUS && wanted === SPACE);
}

/** Line ends, and the indentation after them. */
class Gap {
  #width = 0;
  #lineEnds = 0;

  takes(code: number): boolean {
    if (code === NEWLINE) this.#lineEnds += 1;
    else if (code !== RETURN && (this.#lineEnds === 0 || (code !== SPACE && code !== TAB))) return false;
    this.#width += 1;
    return this.#width <= WIDEST_GAP && this.#lineEnds <= MOST_LINE_ENDS;
  }

  close(): void {
    this.#width = 0;
    this.#lineEnds = 0;
  }
}

function pair(first: number, second: number): number {
  return (first ^ (second << 8)) & 0xffff;
}

/** The text ends where a character, or the escape of one, was to be read. */
export const END = -1;

export const PERCENT = 0x25;
export const BACKSLASH = 0x5c;

type Escape = typeof PERCENT | typeof BACKSLASH;

/**
 * The ways in which a text may have been escaped, the last escape first: for a URL, for JSON (or JavaScript, Python,
 * C, the shell), and each of those once more. Deeper is not looked at.
 */
const READINGS: readonly (readonly Escape[])[] = [
  [PERCENT],
  [BACKSLASH],
  [PERCENT, PERCENT],
  [PERCENT, BACKSLASH],
  [BACKSLASH, PERCENT],
  [BACKSLASH, BACKSLASH],
];

const CONTROLS = new Map(
  ['n\n', 'r\r', 't\t', 'b\b', 'f\f'].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]),
);
const U = 0x75;
const X = 0x78;

/**
 * Those of the ways that are different for this text: undoing first an escape that does not occur in it does nothing,
 * and leaves a way that is there, too.
 */
export function readingsOf(text: string): readonly (readonly Escape[])[] {
  const occurs = { [PERCENT]: text.includes('%'), [BACKSLASH]: text.includes('\\') };
  return READINGS.filter(([first = PERCENT]) => occurs[first]);
}

/** Reads a text character by character, undoing escapes from any position on. */
export class Unescape {
  /** Where the character that was read last ends. */
  end = 0;
  readonly #text: string;
  readonly #escapes: readonly Escape[];

  constructor(text: string, escapes: readonly Escape[]) {
    this.#text = text;
    this.#escapes = escapes;
  }

  /** The code unit that stands at this position; a percent escape gives a byte. {@link END} when it is cut off. */
  read(at: number, depth = this.#escapes.length): number {
    if (depth === 0) {
      this.end = at + 1;
      return at < this.#text.length ? this.#text.charCodeAt(at) : END;
    }
    const escape = this.#escapes[depth - 1];
    const first = this.read(at, depth - 1);
    if (first !== escape) return first;
    return escape === PERCENT ? this.#percent(this.end, depth - 1) : this.#backslash(this.end, depth - 1);
  }

  #percent(at: number, depth: number): number {
    const byte = this.#digits(at, depth, 16, 2);
    if (byte !== null) return byte;
    this.end = at;
    return PERCENT;
  }

  #backslash(at: number, depth: number): number {
    const letter = this.read(at, depth);
    const after = this.end;
    let code: number | null = null;
    if (letter === U) code = this.#digits(after, depth, 16, 4);
    else if (letter === X) code = this.#digits(after, depth, 16, 2);
    else if (letter >= 0x30 && letter <= 0x33) code = this.#digits(at, depth, 8, 3);
    if (code !== null) return code;
    this.end = after;
    return CONTROLS.get(letter) ?? letter;
  }

  /** Null when other characters stand there. */
  #digits(at: number, depth: number, radix: 8 | 16, count: number): number | null {
    let value = 0;
    this.end = at;
    for (let n = 0; n < count; n += 1) {
      const code = this.read(this.end, depth);
      if (code === END) return END;
      const digit = digitOf(code);
      if (digit >= radix) return null;
      value = value * radix + digit;
    }
    return value;
  }
}

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Infinity;
}

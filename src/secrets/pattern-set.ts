import { BACKSLASH, END, PERCENT, readingsOf, Unescape } from './unescape.ts';

/** No pattern stands there. */
export const NONE = 0;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const TAB = 0x09;
const SPACE = 0x20;
const PLUS = 0x2b;
/** Line ends and indentation that are stepped over. */
const WIDEST_GAP = 80;
const MOST_LINE_ENDS = 2;
/** What may stand where a pattern goes on with another character: an escape begins, a line ends. */
const MAY_STAND_BETWEEN: ReadonlySet<number> = new Set([PERCENT, BACKSLASH, NEWLINE, RETURN]);
const TABLE_SIZE = 1 << 16;
/** Steps from character to character in one text: one that is made of beginnings of a long secret would take the square of it. */
const STEPS = 2_000_000;
const STEPS_PER_CHARACTER = 2;
/** Characters that are looked over at once. */
const STRETCH = 1 << 16;

/** What a pair of characters may say of patterns that begin with it; 0: there are none. */
const LOOK_AT_THIRD = 1;
const MAY_BEGIN = 2;

/**
 * Finds any of some hundred texts in one pass, however their characters are escaped, and across line ends (base64
 * comes in lines, a terminal changes line ends, YAML indents them).
 *
 * Tables of flags by two and by three characters rule out nearly every position at the cost of a look or two; from the
 * others on, all patterns with that beginning are followed together.
 */
export class PatternSet {
  readonly #pairs = new Uint8Array(TABLE_SIZE);
  readonly #triples = new Uint8Array(TABLE_SIZE);
  readonly #byFirst = new Map<number, string[]>();

  /** @param patterns of at least three characters, without line ends, and without white space at their beginning */
  constructor(patterns: Iterable<string>) {
    for (const pattern of new Set(patterns)) {
      const first = pattern.charCodeAt(0);
      const second = pattern.charCodeAt(1);
      const third = pattern.charCodeAt(2);
      for (const next of MAY_STAND_BETWEEN) this.#pairs[pair(first, next)] = MAY_BEGIN;
      for (const next of writtenAs(second)) {
        this.#pairs[pair(first, next)] ||= LOOK_AT_THIRD;
        for (const last of writtenAs(third)) this.#triples[triple(first, next, last)] = 1;
      }
      const same = this.#byFirst.get(first);
      if (same) same.push(pattern);
      else this.#byFirst.set(first, [pattern]);
    }
  }

  in(text: string): Search {
    return new Search(text, { pairs: this.#pairs, triples: this.#triples, byFirst: this.#byFirst });
  }
}

interface Tables {
  pairs: Uint8Array;
  triples: Uint8Array;
  byFirst: ReadonlyMap<number, readonly string[]>;
}

class Search {
  readonly #text: string;
  readonly #tables: Tables;
  readonly #plain: Unescape;
  #escaped: readonly Unescape[] | undefined;
  #sawEscape = false;
  readonly #mostSteps: number;
  #steps = 0;

  constructor(text: string, tables: Tables) {
    this.#text = text;
    this.#tables = tables;
    this.#mostSteps = STEPS + STEPS_PER_CHARACTER * text.length;
    this.#plain = new Unescape(text, []);
  }

  /**
   * The first position from `from` on where a pattern may begin, or how far it has looked; the length of the text when
   * there is none.
   */
  candidate(from: number): number {
    const text = this.#text;
    const { pairs, triples } = this.#tables;
    // Of the last two characters the tables know too little.
    const end = Math.min(text.length - 2, from + STRETCH);
    let first = text.charCodeAt(from);
    for (let at = from; at < end; at += 1) {
      const second = text.charCodeAt(at + 1);
      if (first === PERCENT || first === BACKSLASH) return at;
      const flag = pairs[pair(first, second)];
      if (flag === MAY_BEGIN) return at;
      if (flag === LOOK_AT_THIRD) {
        const third = text.charCodeAt(at + 2);
        if (triples[triple(first, second, third)] === 1 || MAY_STAND_BETWEEN.has(third)) return at;
      }
      first = second;
    }
    return Math.max(from, end);
  }

  /** That the text is made to be searched for ever: what was not looked at is to be taken for a pattern. */
  get isTooLong(): boolean {
    return this.#steps > this.#mostSteps;
  }

  /** How many steps from character to character were taken. */
  get steps(): number {
    return this.#steps;
  }

  /** Where the longest pattern that begins here ends; or {@link NONE}. */
  endAt(start: number): number {
    this.#sawEscape = false;
    let longest = this.#follow(start, this.#plain);
    if (this.#sawEscape) {
      this.#escaped ??= readingsOf(this.#text).map((escapes) => new Unescape(this.#text, escapes));
      for (const reading of this.#escaped) longest = Math.max(longest, this.#follow(start, reading));
    }
    return longest;
  }

  #follow(start: number, reading: Unescape): number {
    const first = this.#next(start, reading);
    const begun = this.#tables.byFirst.get(first);
    return begun ? this.#goOn(begun, { read: 1, at: reading.end, gap: new Gap() }, reading) : NONE;
  }

  /** All patterns at once, dropping those that differ. */
  #goOn(patterns: readonly string[], { read, at, gap }: Followed, reading: Unescape): number {
    let alive = patterns;
    let longest: number = NONE;
    for (let n = read, from = at; alive.length > 0;) {
      this.#steps += 1;
      const code = this.#next(from, reading);
      if (code === END) return longest;
      from = reading.end;
      const matching = alive.filter((pattern) => matches(pattern.charCodeAt(n), code));
      if (matching.length === 0) {
        if (!gap.takes(code)) break;
        continue;
      }
      // The space with which one pattern goes on is indentation to the others.
      const wider = matching.length < alive.length ? gap.indentedBy(code) : null;
      if (wider) {
        const others = alive.filter((pattern) => !matching.includes(pattern));
        longest = Math.max(longest, this.#goOn(others, { read: n, at: from, gap: wider }, reading));
      }
      n += 1;
      gap.close();
      if (matching.some((pattern) => pattern.length === n)) longest = Math.max(longest, from);
      alive = matching.filter((pattern) => pattern.length > n);
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

/** How many characters of some patterns are read, and where the next one stands. */
interface Followed {
  read: number;
  at: number;
  gap: Gap;
}

/** Line ends, and the indentation after them. */
class Gap {
  #width = 0;
  #lineEnds = 0;

  takes(code: number): boolean {
    if (code === NEWLINE) this.#lineEnds += 1;
    else if (code !== RETURN && !this.#isIndentation(code)) return false;
    this.#width += 1;
    return this.#width <= WIDEST_GAP && this.#lineEnds <= MOST_LINE_ENDS;
  }

  /** Another one with this character in it, when it may be. */
  indentedBy(code: number): Gap | null {
    if (!this.#isIndentation(code)) return null;
    const wider = new Gap();
    wider.#width = this.#width;
    wider.#lineEnds = this.#lineEnds;
    return wider.takes(code) ? wider : null;
  }

  close(): void {
    this.#width = 0;
    this.#lineEnds = 0;
  }

  #isIndentation(code: number): boolean {
    return this.#lineEnds > 0 && (code === SPACE || code === TAB);
  }
}

/** How a character may stand in a text besides its escapes: in a form, a space is a plus. */
function writtenAs(code: number): readonly number[] {
  return code === SPACE ? [SPACE, PLUS] : [code];
}

function pair(first: number, second: number): number {
  return (first ^ (second << 8)) & (TABLE_SIZE - 1);
}

function triple(first: number, second: number, third: number): number {
  return (first ^ (second << 5) ^ (third << 10)) & (TABLE_SIZE - 1);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constantFrom, nat, property, string, tuple } from 'fast-check';
import { NONE, PatternSet } from './pattern-set.ts';
import { BACKSLASH, END, PERCENT, Unescape } from './unescape.ts';

const NUM_RUNS = { seed: 20_261_122, numRuns: 2_000 };

const ESCAPES = [PERCENT, BACKSLASH] as const;
const EVERY_READING = [
  [],
  ...ESCAPES.map((one) => [one]),
  ...ESCAPES.flatMap((one) => ESCAPES.map((two) => [one, two])),
];

/** What {@link PatternSet} promises, without its tables: each pattern, read in each way, from one position on. */
function slowly(patterns: readonly string[], text: string, start: number): number {
  const ends = EVERY_READING.flatMap((escapes) =>
    patterns.map((pattern) => endOf(pattern, new Unescape(text, escapes), start)),
  );
  return Math.max(...ends);
}

function endOf(pattern: string, reading: Unescape, start: number): number {
  let at = start;
  let between = '';
  for (let n = 0; n < pattern.length;) {
    const code = reading.read(at);
    if (code === END) return NONE;
    at = reading.end;
    const character = String.fromCharCode(code);
    if (character === pattern[n] || (character === '+' && pattern[n] === ' ')) {
      n += 1;
      between = '';
    } else {
      between += character;
      if (n === 0 || between.length > 80 || !/^\r*$|^\r*\n[\r \t]*(\n[\r \t]*)?$/.test(between)) return NONE;
    }
  }
  return at;
}

const characters = constantFrom(...'abab%\\250ux1 +"'.split(''));
// As encodingsOf gives them.
const pattern = string({ unit: characters, minLength: 3, maxLength: 9 }).filter(
  (text) => !text.startsWith(' '),
);
const WRITERS: ((text: string) => string)[] = [
  (text) => text,
  (text) => encodeURIComponent(text),
  (text) => encodeURIComponent(encodeURIComponent(text)),
  (text) => JSON.stringify(text),
  (text) => JSON.stringify(JSON.stringify(text)),
  (text) => encodeURIComponent(JSON.stringify(text)),
  (text) => JSON.stringify(encodeURIComponent(text)),
  (text) => text.replaceAll(/./g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`),
  (text) => text.replaceAll(/./g, (one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`),
  (text) => text.replaceAll(/.{2}/g, '$&\r\n \t'),
  (text) => text.replaceAll(/.{3}/g, '$&\n\n'),
  (text) => text.replaceAll(' ', '+'),
];
const part = tuple(nat(), constantFrom(...WRITERS), nat(12), string({ unit: characters, maxLength: 4 }));

test('the tables rule out no position where a pattern stands, however it is written', () => {
  const patternsAndParts = tuple(
    array(pattern, { minLength: 1, maxLength: 5 }),
    array(part, { maxLength: 4 }),
  );
  let found = 0;
  check(
    property(patternsAndParts, ([patterns, parts]) => {
      const text = parts
        .map(([which, write, cut, after]) => {
          const written = write(patterns[which % patterns.length] ?? '');
          return (cut > 8 ? written.slice(0, cut - 8) : written) + after;
        })
        .join('');
      const search = new PatternSet(patterns).in(text);
      let candidate = search.candidate(0);
      for (let at = 0; at < text.length; at += 1) {
        const expected = slowly(patterns, text, at);
        if (expected !== NONE) found += 1;
        assert.equal(at === candidate ? search.endAt(at) : NONE, expected, `${at} in ${text}`);
        if (at === candidate) candidate = search.candidate(at + 1);
      }
    }),
    NUM_RUNS,
  );
  assert.ok(found > 3_000, `${found} were there to be found`);
});

test('finds patterns of any characters', () => {
  const patterns = ['é€日本', '日本é€', 'ab€日', '\u{1f600}\u{1f601}'];
  for (const wanted of patterns) {
    for (const before of ['', 'x', '日', '\u{1f600}', 'ab']) {
      const text = `${before}${wanted}日本ab`;
      const search = new PatternSet(patterns).in(text);
      let at = search.candidate(0);
      while (at < text.length && search.endAt(at) !== before.length + wanted.length) {
        at = search.candidate(at + 1);
      }
      assert.equal(at, before.length, text);
    }
  }
});

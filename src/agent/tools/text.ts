/** The longest text of one observation, in characters; V0's clients count on it. */
export const MAX_OBSERVATION = 30_000;

/**
 * Cuts the middle out of a text that is too long, and says so where it was.
 * @param why follows on the words that say it
 */
export function cutMiddle(text: string, max = MAX_OBSERVATION, why = ''): string {
  if (text.length <= max) return text;
  const notice = (left: number) => `\n[… ${left} characters left out here${why} …]\n`;
  const room = Math.max(0, max - notice(text.length).length);
  const head = wholeCharacters(text, Math.ceil(room / 2));
  const tail = text.length - Math.floor(room / 2);
  const from = isLowSurrogate(text, tail) ? tail + 1 : tail;
  return `${text.slice(0, head)}${notice(from - head)}${text.slice(from)}`;
}

/** The last position up to `at` that does not stand inside a surrogate pair. */
export function wholeCharacters(text: string, at: number): number {
  return isLowSurrogate(text, at) ? at - 1 : at;
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** As one word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

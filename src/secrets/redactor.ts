import { encodingsOf, SHORTEST } from './encodings.ts';
import { NONE, PatternSet } from './pattern-set.ts';
import { HIDDEN, type Secret } from './secret.ts';

/** Tokens that providers issue are hidden from this length on: nobody chooses a word as one. */
const SHORTEST_TOKEN = 4;

/**
 * Puts {@link HIDDEN} wherever one of the secrets stands: as it is, line by line, in base64 or hex, and however its
 * characters are escaped for a URL or a JSON text, twice over. Values of less than eight characters are left alone. The
 * rest of a text that is made of beginnings of a long secret is hidden, too: nobody waits until it is searched.
 *
 * This is no wall: who has a secret can always write it in a way that nobody looks for. It keeps secrets out of the
 * log that got into an output as they do, by mistake.
 */
export class Redactor {
  readonly #patterns: PatternSet | null;

  /** @param tokens hidden from four characters on, for values that were issued and not chosen */
  constructor(secrets: Iterable<Secret>, tokens: Iterable<Secret> = []) {
    const patterns = [
      ...[...secrets].flatMap((secret) => encodingsOf(secret.unwrap(), SHORTEST)),
      ...[...tokens].flatMap((token) => encodingsOf(token.unwrap(), SHORTEST_TOKEN)),
    ];
    this.#patterns = patterns.length > 0 ? new PatternSet(patterns) : null;
  }

  redact(text: string): string {
    if (!this.#patterns) return text;
    const search = this.#patterns.in(text);
    const pieces: string[] = [];
    let done = 0;
    for (let at = search.candidate(0); at < text.length; at = search.candidate(at + 1)) {
      const end = search.isTooLong ? text.length : search.endAt(at);
      if (end === NONE) continue;
      // Secrets that overlap are hidden by one mark.
      if (at >= done) pieces.push(text.slice(done, at), HIDDEN);
      done = Math.max(done, end);
    }
    return pieces.join('') + text.slice(done);
  }
}

import { encodingsOf, SHORTEST } from './encodings.ts';
import { NONE, OPEN, PatternSet } from './pattern-set.ts';
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
    return this.#patterns ? clean(this.#patterns, text, { covered: 0, whole: true }).clean : text;
  }

  /** For a text that comes in pieces. What may be the beginning of a secret is held back until that is known. */
  stream(): RedactorStream {
    const patterns = this.#patterns;
    let held: Held = { rest: '', covered: 0 };
    const go = (chunk: string, whole: boolean) => {
      if (!patterns) return chunk;
      const { clean: text, held: next } = clean(patterns, held.rest + chunk, {
        covered: held.covered,
        whole,
      });
      held = next;
      return text;
    };
    return { push: (chunk) => go(chunk, false), end: () => go('', true) };
  }
}

export interface RedactorStream {
  /** What is sure to be no part of a secret that later pieces complete. */
  push(chunk: string): string;
  end(): string;
}

/** What is not decided yet, and how much at its beginning belongs to a secret that was already replaced. */
interface Held {
  rest: string;
  covered: number;
}

function clean(
  patterns: PatternSet,
  text: string,
  { covered, whole }: { covered: number; whole: boolean },
): { clean: string; held: Held } {
  const search = patterns.in(text, whole);
  const pieces: string[] = [];
  let done = covered;
  let at = search.candidate(0);
  for (; at < text.length; at = search.candidate(at + 1)) {
    const end = search.isTooLong ? text.length : search.endAt(at);
    if (end === NONE) continue;
    if (end === OPEN) break;
    // Secrets that overlap are hidden by one mark.
    if (at >= done) pieces.push(text.slice(done, at), HIDDEN);
    done = Math.max(done, end);
  }
  if (at > done) pieces.push(text.slice(done, at));
  return { clean: pieces.join(''), held: { rest: text.slice(at), covered: Math.max(0, done - at) } };
}

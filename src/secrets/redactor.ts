import { setImmediate } from 'node:timers/promises';
import { encodingsOf, SHORTEST } from './encodings.ts';
import { NONE, PatternSet } from './pattern-set.ts';
import { HIDDEN, type Secret } from './secret.ts';

/** Tokens that providers issue are hidden from this length on: nobody chooses a word as one. */
const SHORTEST_TOKEN = 4;
/** Steps after which others have their turn: a few milliseconds, of text that is made to be searched for long. */
const TURN = 16_384;
/** Characters without a beginning of a pattern that cost as much as a step. */
const CHARACTERS_PER_STEP = 16;

/** Hides secrets in texts. */
export interface TextRedactor {
  /** At once: for what is short. A text of megabytes may be made to take seconds. */
  readonly redact: (text: string) => string;
  /** As `redact`, in turns with all else that is to be done: for texts of any length. */
  readonly redactInTurns: (text: string) => Promise<string>;
}

/**
 * Puts {@link HIDDEN} wherever one of the secrets stands: as it is, line by line, in base64 or hex, and however its
 * characters are escaped for a URL or a JSON text, twice over. Values of less than eight characters are left alone. The
 * rest of a text that is made of beginnings of a long secret is hidden, too: nobody waits until it is searched.
 *
 * This is no wall: who has a secret can always write it in a way that nobody looks for. It keeps secrets out of the
 * log that got into an output as they do, by mistake.
 */
export class Redactor implements TextRedactor {
  readonly #patterns: PatternSet | null;

  /** @param tokens hidden from four characters on, for values that were issued and not chosen */
  constructor(secrets: Iterable<Secret>, tokens: Iterable<Secret> = []) {
    const patterns = [
      ...[...secrets].flatMap((secret) => encodingsOf(secret.unwrap(), SHORTEST)),
      ...[...tokens].flatMap((token) => encodingsOf(token.unwrap(), SHORTEST_TOKEN)),
    ];
    this.#patterns = patterns.length > 0 ? new PatternSet(patterns) : null;
  }

  readonly redact = (text: string): string => {
    const turns = this.#turns(text);
    for (;;) {
      const { done, value } = turns.next();
      if (done) return value;
    }
  };

  readonly redactInTurns = async (text: string): Promise<string> => {
    const turns = this.#turns(text);
    for (;;) {
      const { done, value } = turns.next();
      if (done) return value;
      await setImmediate();
    }
  };

  *#turns(text: string): Generator<undefined, string> {
    if (!this.#patterns) return text;
    const search = this.#patterns.in(text);
    const pieces: string[] = [];
    let done = 0;
    let looked = 0;
    let turn = TURN;
    for (let from = 0, at; (at = search.candidate(from)) < text.length; from = at + 1) {
      const end = search.isTooLong ? text.length : search.endAt(at);
      looked += 1 + (at - from) / CHARACTERS_PER_STEP;
      if (looked + search.steps > turn) {
        turn = looked + search.steps + TURN;
        yield;
      }
      if (end === NONE) continue;
      // Secrets that overlap are hidden by one mark.
      if (at >= done) pieces.push(text.slice(done, at), HIDDEN);
      done = Math.max(done, end);
    }
    return pieces.join('') + text.slice(done);
  }
}

import { cutMiddle } from '../tools/text.ts';

/** Tokenizers give three to four bytes of text and code a token; the smaller number errs on the safe side. */
const BYTES_PER_TOKEN = 3;

/** How many tokens a model reads in a text: an estimate that is seldom too small. */
export function tokensOfText(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/**
 * The text, with its middle left out where it has more tokens than that. There it is said, and why.
 * @param why such as `: it does not fit`
 */
export function cutText(text: string, tokens: number, why = ''): string {
  const all = tokensOfText(text);
  if (all <= tokens) return text;
  let characters = Math.floor((text.length * tokens) / all);
  for (;;) {
    const cut = cutMiddle(text, characters, why);
    // Where the ends have characters of more bytes than the middle, less is kept.
    if (tokensOfText(cut) <= tokens || characters === 0) return cut;
    characters = Math.floor(characters * 0.8);
  }
}

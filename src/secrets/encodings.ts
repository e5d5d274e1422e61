/** A shorter value would be found by chance in harmless text. */
export const SHORTEST = 8;

const LINE_END = /\r?\n[ \t]*/g;

/**
 * The texts to look for, so that a secret is found as it stands, as base64 and as hex, whole and line by line. None
 * has a line end: whoever looks steps over those. Escapes of single characters (in URLs, in JSON) are not listed here
 * either: a secret has too many of those, as each writer chooses what it escapes. `pattern-set.ts` undoes them.
 *
 * @param shortest a value or line of fewer characters is left out; white space around it does not count
 */
export function encodingsOf(secret: string, shortest: number): string[] {
  const value = secret.trim();
  const lines = value.split(LINE_END).map((line) => line.trim());
  return [...new Set([value, ...lines])].flatMap((part) => {
    const joined = part.replaceAll(LINE_END, '');
    return joined.length < shortest ? [] : [joined, ...encodingsOfBytes(Buffer.from(part, 'utf8'), joined)];
  });
}

function encodingsOfBytes(bytes: Buffer, joined: string): string[] {
  // Undoing `%C3%A9` or `\xc3\xa9` gives bytes, one character each.
  const unescaped = Buffer.from(joined, 'utf8').toString('latin1');
  const hex = bytes.toString('hex');
  const base64 = base64Cores(bytes);
  const base64url = base64.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'));
  return [unescaped, hex, hex.toUpperCase(), ...base64, ...base64url];
}

/**
 * Base64 of a text around the secret depends on how many bytes stand before it, modulo 3. Of each of the three forms
 * this gives the characters that come from the secret alone; those at the edges share bits with their neighbours.
 */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const first = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + bytes.length) * 8) / 6);
    return encoded.slice(first, end);
  });
}

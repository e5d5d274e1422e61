import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The ways a secret is likely to be written down. */
export function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString('base64').replace(/=*$/, ''),
    // In the middle of other bytes, base64 falls on two other alignments.
    Buffer.concat([Buffer.from('x'), bytes])
      .toString('base64')
      .slice(2, -4),
    Buffer.concat([Buffer.from('xx'), bytes])
      .toString('base64')
      .slice(3, -4),
    bytes.toString('hex'),
  ];
}

/** Which of the secrets stand in the text, by their names. */
export function leaksIn(text: string, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets)
    .filter(([, secret]) => spellings(secret).some((spelling) => text.includes(spelling)))
    .map(([name]) => name);
}

/** The same for every file below a directory, but for those it may be in: `file: secret`. */
export async function leaksBelow(
  directory: string,
  secrets: Readonly<Record<string, string>>,
  except: readonly string[] = [],
): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || except.includes(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    found.push(...leaksIn(await textOf(path), secrets).map((name) => `${path}: ${name}`));
  }
  return found;
}

/** What a file holds; nothing when it was removed since it was listed. */
export async function textOf(path: string): Promise<string> {
  return await readFile(path, 'latin1').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}

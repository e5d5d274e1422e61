import { type Answer, ok, type ProviderFailure } from './answer.ts';
import type { RepositoryFile } from './git-provider.ts';

/** The largest file that is read. */
export const FILE_BYTES = 1024 * 1024;

/** A file's text, if it is not too large. */
export function textFile(path: string, content: string, what: string): Answer<RepositoryFile> {
  return Buffer.byteLength(content) > FILE_BYTES ? tooLarge(what) : ok({ path, content });
}

/** The file that a provider gave in Base64; `undefined` when it gave none, because it is too large. */
export function decodedFile(path: string, base64: string | undefined, what: string): Answer<RepositoryFile> {
  if (base64 === undefined) return tooLarge(what);
  return textFile(path, Buffer.from(base64, 'base64').toString('utf8'), what);
}

export function tooLarge(what: string): ProviderFailure {
  return { kind: 'too_large', message: `${what} is larger than 1 MiB: too large to be read here.` };
}

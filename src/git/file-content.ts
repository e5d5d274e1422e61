import { type Answer, ok, type ProviderFailure } from './answer.ts';
import type { RepositoryFile } from './git-provider.ts';

/** The largest file that is read. */
export const FILE_BYTES = 1024 * 1024;

/** The file that a provider gave in Base64; `undefined` when it gave none, because it is too large. */
export function decodedFile(path: string, base64: string | undefined, what: string): Answer<RepositoryFile> {
  if (base64 === undefined) return tooLarge(what);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > FILE_BYTES) return tooLarge(what);
  return ok({ path, content: new TextDecoder().decode(bytes) });
}

export function tooLarge(what: string): ProviderFailure {
  return { kind: 'too_large', message: `${what} is larger than 1 MiB: too large to be read here.` };
}

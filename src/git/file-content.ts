import type { Answer } from './answer.ts';
import { failureOf } from './api-failure.ts';
import type { ApiPlace } from './api.ts';
import type { RepositoryFile } from './git-provider.ts';

const FILE_BYTES = 1024 * 1024;

/** The file that a provider gave in Base64; `undefined` when it gave none, because it is too large. */
export function decodedFile(
  place: ApiPlace,
  path: string,
  base64: string | undefined,
  what: string,
): Answer<RepositoryFile> {
  if (base64 === undefined) return tooLarge(place, what);
  return checkedFile(place, path, Buffer.from(base64, 'base64'), what);
}

function checkedFile(place: ApiPlace, path: string, bytes: Uint8Array, what: string): Answer<RepositoryFile> {
  if (bytes.length > FILE_BYTES) return tooLarge(place, what);
  return { kind: 'ok', value: { path, content: new TextDecoder().decode(bytes) } };
}

function tooLarge(place: ApiPlace, what: string): Answer<RepositoryFile> {
  return {
    ...failureOf(place, 'rejected', what),
    message: `${what} is larger than 1 MiB, too large to be read here.`,
  };
}

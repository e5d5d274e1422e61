import { z } from 'zod';
import { listOf } from '../list-of.ts';
import { type Answer, ok } from '../answer.ts';
import type { ApiPlace } from '../api-place.ts';
import { failureOf } from '../api-failure.ts';
import { decodedFile } from '../file-content.ts';
import type { FolderEntry, RepositoryFile } from '../git-provider.ts';

const text = z.string();

/** What GitHub, and Forgejo after it, have at a path: a file, or the entries of a folder. */
export const contents = z.union([
  listOf(z.object({ name: text, path: text, type: text })),
  z.object({ path: text, type: text, encoding: text.nullish(), content: text.nullish() }),
]);
type Contents = z.output<typeof contents>;

/** The file there; a folder is none. */
export function fileIn(
  asked: Answer<Contents>,
  place: ApiPlace,
  { path, what }: { path: string; what: string },
): Answer<RepositoryFile> {
  if (asked.kind !== 'ok') return asked;
  if (Array.isArray(asked.value) || asked.value.type !== 'file') return failureOf(place, 'not_found', what);
  const { encoding, content } = asked.value;
  return decodedFile(path, encoding === 'base64' ? (content ?? undefined) : undefined, what);
}

/** What lies in the folder there; a file is none. */
export function entriesIn(
  asked: Answer<Contents>,
  place: ApiPlace,
  { what }: { what: string },
): Answer<FolderEntry[]> {
  if (asked.kind !== 'ok') return asked;
  if (!Array.isArray(asked.value)) return failureOf(place, 'not_found', what);
  return ok(
    asked.value.slice(0, 1_000).map(({ name, path, type }) => ({
      name,
      path,
      kind: type === 'dir' ? 'folder' : 'file',
    })),
  );
}

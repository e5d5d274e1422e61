import type { FileRefusal, WorkspaceFiles } from '../sandbox/workspace-files.ts';

export type Uploaded = { ok: true; path: string; size: number } | { ok: false; reason: string };

/** Thrown inside a stream, to end it. */
class NoRoom extends Error {}

/**
 * Stores a file in the workspace's root as it comes, in place of one that has its name: whole, or not at all.
 * `room`: how many bytes it may have.
 */
export async function storeUpload(
  files: WorkspaceFiles,
  root: string,
  { name, content }: { name: string; content: AsyncIterable<Uint8Array> },
  room: number,
): Promise<Uploaded> {
  const problem = problemOf(name);
  if (problem !== null) return { ok: false, reason: problem };
  const path = `${root}/${name}`;
  let size = 0;
  const bounded = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      size += chunk.length;
      if (size > room) throw new NoRoom();
      yield chunk;
    }
  };
  try {
    const written = await files.write(path, bounded());
    return written.ok ? { ok: true, path, size } : { ok: false, reason: REASONS[written.why] };
  } catch (error) {
    if (error instanceof NoRoom) return { ok: false, reason: REASONS.no_space };
    throw error;
  }
}

function problemOf(name: string): string | null {
  // oxlint-disable-next-line no-control-regex -- a name with these could not be typed, and would fool a terminal
  if (name === '' || name === '.' || name === '..' || /[/\\\u0000-\u001f\u007f]/.test(name))
    return 'This is no name for a file';
  return Buffer.byteLength(name) > 255 ? 'The name is longer than 255 bytes' : null;
}

const REASONS: Readonly<Record<FileRefusal, string>> = {
  not_found: 'There is no such folder',
  not_a_file: 'A folder or something else that is no file has this name',
  not_a_directory: 'There is no such folder',
  outside_workspace: 'A link out of the workspace has this name',
  too_large: 'It is too large',
  not_permitted: 'It may not be written there',
  no_space: 'The workspace has no room for it: its disk quota would be exceeded',
};

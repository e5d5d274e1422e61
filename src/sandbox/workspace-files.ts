/** Why a path was not opened. Expected outcomes, so values and not exceptions. */
export type FileRefusal =
  | 'not_found'
  | 'not_a_file'
  | 'not_a_directory'
  | 'outside_workspace'
  | 'too_large'
  | 'not_permitted'
  | 'no_space';

export type FileResult<T> = { ok: true; value: T } | { ok: false; why: FileRefusal; detail: string };

/**
 * The workspace's files, opened by the service one path part at a time through descriptors, so that a sandbox
 * that swaps a folder for a link meanwhile leads nowhere. Links that stay in the workspace are followed as the
 * commands would follow them. Paths are as seen inside: `/workspace/a.txt`.
 */
export interface WorkspaceFiles {
  read(path: string, maxBytes: number): Promise<FileResult<Uint8Array>>;
  /** Replaces the file as a whole (temporary file, then rename); makes missing folders. @throws what `content` throws */
  write(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<FileResult<void>>;
  list(
    path: string,
    maxEntries: number,
  ): Promise<FileResult<{ name: string; kind: 'file' | 'directory' | 'other' }[]>>;
  stat(path: string): Promise<FileResult<{ kind: 'file' | 'directory' | 'other'; size: number }>>;
}

import type { FileRefusal, FileResult } from '../workspace-files.ts';

const REFUSALS: Readonly<Record<string, FileRefusal>> = {
  ENOENT: 'not_found',
  // A link that became something else while it was read.
  EINVAL: 'not_found',
  ELOOP: 'not_found',
  ENAMETOOLONG: 'not_found',
  ENOTDIR: 'not_a_directory',
  EEXIST: 'not_a_directory',
  EISDIR: 'not_a_file',
  ENXIO: 'not_a_file',
  ENODEV: 'not_a_file',
  EACCES: 'not_permitted',
  EPERM: 'not_permitted',
  EROFS: 'not_permitted',
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EFBIG: 'no_space',
};

export const refused = (
  why: FileRefusal,
  detail: string,
): { ok: false; why: FileRefusal; detail: string } => ({
  ok: false,
  why,
  detail,
});

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What the system refuses, as a value that names the path as seen inside; everything else is thrown on. */
export async function orRefusal<T>(
  path: string,
  attempt: () => Promise<FileResult<T>>,
): Promise<FileResult<T>> {
  try {
    return await attempt();
  } catch (error) {
    const code = errnoOf(error) ?? '';
    const why = REFUSALS[code];
    if (why === undefined) throw error;
    return refused(why, `${path}: ${code}`);
  }
}

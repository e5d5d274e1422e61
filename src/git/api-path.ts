/** A path below a provider's API root, with its parts encoded; null when a part can't stand in a path. */
export type ApiPath = string | null;

type Part = string | number | readonly string[];

/**
 * Makes a path, each value encoded: a text is one segment, a list is several. A URL takes `.` and `..` for steps, also
 * encoded, so nothing lies at a path with one.
 */
export function apiPath(literals: TemplateStringsArray, ...parts: Part[]): ApiPath {
  const segments = parts.map((part) => (Array.isArray(part) ? part : [String(part)]));
  if (
    segments
      .flat()
      .some((segment) => segment === '' || segment === '.' || segment === '..' || !segment.isWellFormed())
  )
    return null;
  return String.raw(
    { raw: literals },
    ...segments.map((list) => list.map((segment) => encodeURIComponent(segment)).join('/')),
  );
}

/** The segments of a file's path; "" has none. */
export function pathSegments(path: string): string[] {
  return path === '' ? [] : path.split('/');
}

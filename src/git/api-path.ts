/** A path below a provider's API root, with its parts encoded; null when a part can't stand in a path. */
export type ApiPath = string | null;

type Part = string | number | readonly string[];

/** Makes a path, each value encoded: a text is one segment, a list is several. */
export function apiPath(literals: TemplateStringsArray, ...parts: Part[]): ApiPath {
  const segments = parts.map((part) => (Array.isArray(part) ? part : [String(part)]));
  if (!segments.flat().every((segment) => isSegment(segment))) return null;
  return String.raw(
    { raw: literals },
    ...segments.map((list) => list.map((segment) => encodeURIComponent(segment)).join('/')),
  );
}

/** The segments of a file's path; "" has none. */
export function pathSegments(path: string): string[] {
  return path === '' ? [] : path.split('/');
}

/** Whether something can lie there in a repository; "" is its root. */
export function isPath(path: string): boolean {
  return pathSegments(path).every((segment) => isSegment(segment));
}

/** A URL takes `.` and `..` for steps, also encoded, so nothing lies at a path with one. */
function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.isWellFormed();
}

import { apiPath } from '../api-path.ts';

/** A path below a repository's; null where `workspace/name` names none. */
export function below(repository: string, path: string | null): string | null {
  const [workspace, name, ...more] = repository.split('/');
  if (workspace === undefined || name === undefined || more.length > 0 || path === null) return null;
  const root = apiPath`/repositories/${workspace}/${name}`;
  return root === null ? null : root + path;
}

/** A text in Bitbucket's query language. */
export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

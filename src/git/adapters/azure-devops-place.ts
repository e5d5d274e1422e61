import { apiPath } from '../api-path.ts';
import type { ApiPlace } from '../api-place.ts';

/** Where a repository is: Azure's are in a project of an organisation. */
export interface Located {
  organisation: string;
  project: string;
  name: string;
}

/** The organisation that the stored host names (`dev.azure.com/ORGANISATION`); null when it names none. */
export function organisationIn(base: string): string | null {
  const last = new URL(base).pathname.split('/').at(-1) ?? '';
  return last === '' ? null : decodeURIComponent(last);
}

/**
 * `organisation/project/name`; the organisation may be left out where the stored host has it, and the project where it
 * has the name of its repository. Null when it can be none.
 */
export function located(base: string, repository: string): Located | null {
  const parts = repository.split('/').filter((part) => part !== '_git');
  const own = organisationIn(base);
  if (own !== null && parts.length === 2) parts.unshift(own);
  const [organisation, project, name = project, ...more] = parts;
  if (organisation === undefined || project === undefined || name === undefined || more.length > 0)
    return null;
  if (own !== null && organisation.toLowerCase() !== own.toLowerCase()) return null;
  return apiPath`${parts}` === null ? null : { organisation: own ?? organisation, project, name };
}

/** The place of an organisation: below it is all that is asked. */
export function placeOf(place: Omit<ApiPlace, 'root'>, base: string, organisation: string): ApiPlace {
  const root = organisationIn(base) === null ? `${base}/${encodeURIComponent(organisation)}` : base;
  return { ...place, root };
}

/** The path of a repository's API; null stays null. */
export function below({ project, name }: Located, path: string | null): string | null {
  const root = apiPath`/${project}/_apis/git/repositories/${name}`;
  return root === null || path === null ? null : root + path;
}

/** Names that stand in the name of a repository here. A project may have others: then its id stands for it. */
export function nameOrId(name: string, id: string): string {
  return /^[A-Za-z0-9._-]+$/.test(name) ? name : id;
}

export const VERSION = { 'api-version': '7.1' } as const;

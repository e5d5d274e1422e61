/** Where a workspace stands for its user, whatever its path is for the commands. */
const SHOWN = '/workspace';

/** A path of a client, relative to the workspace or as seen inside, as the commands would write it below `root`. */
export function insidePath(root: string, given: string): string {
  if (!given.startsWith('/')) return given === '' ? root : `${root}/${given}`;
  if (given === SHOWN || given.startsWith(`${SHOWN}/`)) return `${root}${given.slice(SHOWN.length)}`;
  return given;
}

/** The folder of a repository in the workspace: the last part of its name. */
export function repositoryFolder(repository: string): string {
  return repository.split('/').at(-1) ?? repository;
}

import { originInside, type GitFront } from './git-front.ts';

/** What a request to the provider's host asks for, as far as the token is concerned. */
export type GitRoute =
  /** Not for the provider: an ordinary request. */
  | { to: 'elsewhere' }
  /** This conversation's repository: the token is added. `path` has the repository's name as the front spells it. */
  | { to: 'repository'; path: string; lfsBatch: boolean }
  /** Another repository of the same host (a submodule): only to be read, and without a token unless that was asked for. */
  | { to: 'other'; repository: string; path: string; withToken: boolean }
  /** A file of this conversation's repository whose address the gateway gave out in an LFS answer. */
  | { to: 'lfsAction'; id: string }
  | { to: 'nowhere'; reason: string };

/** Below a repository, where the gateway itself answers for LFS transfers. */
export const LFS_ACTIONS = 'info/lfs/parley';

const REPOSITORY = String.raw`[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)+?`;
const LFS = String.raw`info/lfs/(?:objects/batch|locks(?:/[A-Za-z0-9._~-]+)*|parley/[A-Za-z0-9_-]+)`;
const REST = `info/refs|git-upload-pack|git-receive-pack|${LFS}`;
const GIT_PATH = new RegExp(`^(${REPOSITORY})/(${REST})$`);

/**
 * Decides about one absolute-form request. Deny by default: of the provider's host only git's smart HTTP and LFS are
 * reached by this way, and a path with a second spelling (`%`, `\`, `//`, `..`) not at all, since the provider could
 * read it otherwise than this.
 * @param target the request's target exactly as it came
 */
export function gitRoute(front: GitFront, method: string, target: URL, raw: string): GitRoute {
  if (target.host !== new URL(originInside(front)).host) return { to: 'elsewhere' };
  const nowhere = (reason: string): GitRoute => ({ to: 'nowhere', reason });

  const rawPath = raw.replace(/^[^:]*:\/\/[^/?#]*/, '').split(/[?#]/)[0] ?? '';
  const { pathname, search } = target;
  if (rawPath !== pathname || /[%\\]|\/\/|\/\.{1,2}(\/|$)/.test(rawPath) || raw.includes('#')) {
    return nowhere('the path must stand in its plain form, without %, \\, // or ..');
  }
  const prefix = new URL(front.base).pathname.replace(/\/*$/, '/');
  const match = pathname.startsWith(prefix) ? GIT_PATH.exec(pathname.slice(prefix.length)) : null;
  const [, repository, rest] = match ?? [];
  if (repository === undefined || rest === undefined || !isGitRequest(method, rest, search)) {
    return nowhere(`of ${new URL(front.base).host} only git's own requests pass here (smart HTTP and LFS)`);
  }

  const name = repository.replace(/\.git$/i, '');
  if (name.toLowerCase() === front.repository.toLowerCase()) {
    const suffix = repository.length > name.length ? '.git' : '';
    if (rest.startsWith(`${LFS_ACTIONS}/`))
      return { to: 'lfsAction', id: rest.slice(LFS_ACTIONS.length + 1) };
    const path = `${prefix}${front.repository}${suffix}/${rest}${search}`;
    return { to: 'repository', path, lfsBatch: rest === 'info/lfs/objects/batch' };
  }
  if (rest === 'git-receive-pack' || search === '?service=git-receive-pack')
    return nowhere(onlyOne(front, name));
  // LFS asks for reading and writing by the same request.
  const withToken = !rest.startsWith('info/lfs/') && isAlsoRead(front, name);
  return { to: 'other', repository: name, path: `${pathname}${search}`, withToken };
}

function isAlsoRead({ alsoReads = [] }: GitFront, repository: string): boolean {
  const name = repository.toLowerCase();
  const owner = name.slice(0, name.lastIndexOf('/'));
  return alsoReads.some((entry) => {
    const allowed = entry.toLowerCase();
    return allowed === name || allowed === `${owner}/*`;
  });
}

/** What a conversation is told that asks for a repository which is not its own. */
export function onlyOne(front: GitFront, other: string): string {
  return `this conversation may use ${front.repository} only, not ${other}`;
}

function isGitRequest(method: string, rest: string, search: string): boolean {
  if (rest === 'info/refs') return method === 'GET' && /^\?service=git-(upload|receive)-pack$/.test(search);
  if (rest.startsWith('git-')) return method === 'POST' && search === '';
  return /^(GET|HEAD|POST|PUT|PATCH)$/.test(method);
}

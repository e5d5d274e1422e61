import { posix } from 'node:path';

import { high, LOW, medium } from './rating.ts';
import type { Rating } from '../analyzer.ts';

/** Files and folders that hold keys, tokens and passwords, wherever they stand. */
const CREDENTIALS =
  /(^|\/)(\.ssh|\.aws|\.gnupg|\.kube|\.docker\/config\.json|\.netrc|\.git-credentials|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.config\/(gh|gcloud|git\/credentials|hub)|\.cargo\/credentials(\.toml)?|\.gem\/credentials|\.vault-token|\.terraform\.d\/credentials\.tfrc\.json|\.(bash|zsh|python|psql|mysql)_history|id_(rsa|dsa|ecdsa|ed25519)[^/]*|\.env(\.(local|production|prod|staging|development))?|keyrings?|[^/]*\.(pem|p12|pfx|keystore|jks|kdbx))(\/|$)|^\/etc\/(g?shadow|sudoers|ssl\/private|ssh\/ssh_host)|^\/proc\/[^/]+\/(environ|mem)$|^\/dev\/(mem|kmem)$|^\/run\/secrets(\/|$)/i;
/** Where a change is carried out later, by whoever works in the repository or starts a shell. */
const TRIGGERS =
  /(^|\/)(\.git(\/(hooks|config|info)(\/|$)|$)|\.husky(\/|$)|\.bash(rc|_profile|_login|_logout|_aliases)$|\.profile$|\.zsh(rc|env)$|\.envrc$|\.gitconfig$|\.config\/git\/config$)/;
const DEVICES = /^\/dev\/(null|stdout|stderr|stdin|tty|fd\/\d+|zero|full|u?random)$/;

/** A path as it is reached from `cwd`; `~` stays at its beginning. Null when `cwd` is not known and it matters. */
export function absolute(path: string, cwd: string | null): string | null {
  const clean = path.replaceAll('\\', '');
  if (clean.startsWith('/') || clean.startsWith('~')) return trimmed(posix.normalize(clean));
  return cwd === null ? null : trimmed(posix.normalize(posix.join(cwd, clean)));
}

function trimmed(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

export interface Ground {
  root: string;
  cwd: string | null;
}

export function readsPath(path: string, { cwd }: Ground): Rating {
  const at = absolute(path, cwd) ?? path;
  if (CREDENTIALS.test(at) || CREDENTIALS.test(path)) return high(`It reads ${path}, which holds secrets.`);
  return LOW;
}

/** What a pattern might find: `.s*h` is `.ssh` written otherwise. */
const FOUND =
  '.ssh .aws .gnupg .kube .netrc .git-credentials .npmrc .pypirc .pgpass .env .vault-token id_rsa id_ed25519'.split(
    ' ',
  );

export function findsPath(path: string): Rating {
  const found = path.split('/').some((pattern) => {
    // One without a letter, such as `.*`, is meant for everything.
    if (pattern.length > 40 || !/[*?[{]/.test(pattern) || !/^(\.|id).*\w/.test(pattern)) return false;
    const name = nameLike(pattern);
    return name !== null && FOUND.some((one) => name.test(one));
  });
  return found ? high(`It reads what ${path} finds, which may hold secrets.`) : LOW;
}

/** A pattern of the shell for one name; null for one that could not be tried quickly, or is none. */
function nameLike(pattern: string): RegExp | null {
  if ((pattern.match(/\*/g)?.length ?? 0) > 4 || pattern.includes('**')) return null;
  const source = pattern
    .replaceAll(/[.+^$()|\\]/g, '\\$&')
    .replaceAll('[!', '[^')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
    .replaceAll('{', '(')
    .replaceAll('}', ')')
    .replaceAll(',', '|');
  try {
    return new RegExp(`^${source}$`);
  } catch {
    return null;
  }
}

/** `whole`: what is there is lost or changed with all that is below it. */
export function writesPath(path: string, { root, cwd }: Ground, whole = false): Rating {
  if (/^\/dev\/(tcp|udp)\//.test(path)) return high('It opens a connection of its own to the network.');
  if (DEVICES.test(path)) return LOW;
  const at = absolute(path, cwd);
  if (at === null) return high(`It writes to ${path} in a directory that is not known.`);
  if (CREDENTIALS.test(at)) return high(`It changes ${path}, which holds secrets.`);
  if (TRIGGERS.test(at)) return high(`It changes ${path}, which others carry out later.`);
  if (whole && cwd !== null && (cwd === at || cwd.startsWith(`${at}/`))) {
    return high(`It takes all of ${path} at once, with the directory it stands in.`);
  }
  if (whole && (at === root || at === `${root}/*` || /^\/tmp(\/\*)?$/.test(at))) {
    return high(`It takes all of ${path} at once.`);
  }
  if (at === root || at.startsWith(`${root}/`)) return whole ? medium(`It changes all of ${path}.`) : LOW;
  if (at === '/tmp' || at.startsWith('/tmp/') || at.startsWith('/var/tmp/')) return LOW;
  return high(`It writes to ${path}, outside the workspace.`);
}

import type { Secret } from '../../secrets/secret.ts';

/** The one repository a conversation reaches with its user's token, and how the token is sent to its host. */
export interface GitFront {
  /** Scheme, host, port and path of the provider: `https://github.com`, `http://git.local:3001/forge`. No final slash. */
  base: string;
  /**
   * `owner/name`, more levels allowed, without `.git`: the repository's path below the base (at Azure with its
   * `_git` part: `org/project/_git/name`).
   */
  repository: string;
  /** Sent as Basic `username:token`; null for a public repository without a token. */
  credential: { username: string; token: Secret } | null;
  /**
   * Other repositories of the host that are read with the token, too: `owner/name` as above, or `owner/*` for all of
   * one owner. None when not given.
   */
  alsoReads?: readonly string[];
  /** The number of the conversation it is for: whose pushes these are. */
  conversation?: number;
}

/** Where the proxy listens inside a sandbox; a relay brings each connection to the gateway's socket. */
export const PROXY_INSIDE = 'http://127.0.0.1:3128';

/** Stands in for a provider on loopback: programs in a sandbox never ask a proxy for `localhost` or 127.0.0.1. */
const LOOPBACK_ALIAS = 'git-host.internal';

/**
 * The origin under which the provider is seen inside: the same host, but by plain http, so that the gateway can read
 * the request and add the token. The gateway speaks the base's own scheme on the way out.
 */
export function originInside(front: GitFront): string {
  const { hostname, host, port } = new URL(front.base);
  if (!/^(localhost|.*\.localhost|127\.[0-9.]+|\[::1\])$/.test(hostname)) return `http://${host}`;
  return `http://${LOOPBACK_ALIAS}${port === '' ? '' : `:${port}`}`;
}

/**
 * What the sandbox's `/etc/gitconfig` says about the network: every spelling of the provider's address leads to the
 * gateway, and nothing asks for a password. `.git/config` keeps the address that was cloned from.
 */
export function gitFrontConfig(front: GitFront | null): string {
  const lines = ['[http]', `\tproxy = ${PROXY_INSIDE}`, '[credential]', '\thelper ='];
  if (front) {
    const { origin, hostname, host, pathname } = new URL(front.base);
    const path = pathname.replace(/\/*$/, '/');
    const [inside, outside] = [`${originInside(front)}${path}`, `${origin}${path}`];
    const spellings = [
      `git@${hostname}:${path.slice(1)}`,
      `ssh://git@${hostname}${path}`,
      `git://${host}${path}`,
    ];
    if (inside !== outside) spellings.unshift(outside);
    lines.push(`[url "${inside}"]`, ...spellings.map((spelling) => `\tinsteadOf = ${spelling}`));
  }
  return `${lines.join('\n')}\n`;
}

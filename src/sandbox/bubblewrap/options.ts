import type { Secret } from '../../secrets/secret.ts';
import type { GitFront } from '../gateway/git-front.ts';

export interface BubblewrapOptions {
  /**
   * Directory of this service alone for sockets and what else a sandbox needs while it runs: short (a socket's path
   * has at most 107 bytes), best below /run. What an earlier process left in it is killed and removed.
   */
  runDir: string;
  /**
   * Where conversations have their folders, by their numbers: the test of itself works where one would be, so that it
   * finds what the sandboxes' users cannot reach there. Null: that is not to be touched.
   */
  workspaces: string | null;
  /** Of a service that is root: sandbox KEY runs as uid and gid `uidBase + KEY`. No account may be in that range. */
  uidBase: number;
  /** Toolchains outside /usr (pyenv, nvm, /opt/…), shown under their own path; `bin` in each is put into PATH. */
  extraReadOnlyPaths: readonly string[];
  /** Certificates that programs inside should trust besides the system's; null: the system's alone. */
  caFile: string | null;
  /** `secrets`: what the sandbox knows, and could make a part of what is said about it. */
  startGateway: (
    socketPath: string,
    front: GitFront | null,
    secrets: readonly Secret[],
  ) => Promise<{ close(): Promise<void> }>;
  /** What `/etc/gitconfig` inside says about the way out. */
  gitConfig: (front: GitFront | null) => string;
  log: (line: string) => void;
}

import type { Secret } from '../../secrets/secret.ts';

/** The one repository a conversation reaches with its user's token, and how the token is sent to its host. */
export interface GitFront {
  /** Scheme, host, port and path of the provider: `https://github.com`, `http://git.local:3001/forge`. No final slash. */
  base: string;
  /** `owner/name`, more levels allowed, without `.git`. */
  repository: string;
  /** Sent as Basic `username:token`; null for a public repository without a token. */
  credential: { username: string; token: Secret } | null;
}

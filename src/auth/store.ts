/** The user that `SESSION_API_KEY` belongs to, and the only one on a machine of one person. */
export const DEFAULT_USER = 'default';

export interface User {
  id: string;
  name: string;
  createdAt: string;
  disabledAt: string | null;
}

export interface ApiKey {
  id: string;
  userId: string;
  label: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
}

/** What a shown credential is looked up by: the SHA-256 of it, in hex. */
export type CredentialHash = string;

/** A key or browser session that was found, with all that decides whether it counts. */
export interface Credential {
  keyId: string;
  userId: string;
  userName: string;
  disabledAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
}

/** Users, keys and browser sessions. Times are ISO 8601 in UTC. */
export interface KeyStore {
  addUser(user: User): Promise<void>;
  findUser(name: string): Promise<User | undefined>;
  listUsers(): Promise<User[]>;
  /** Null enables again. The user's browser sessions end for good. */
  disableUser(id: string, at: string | null): Promise<void>;
  /** Removes the user with keys, settings, tokens and secrets. Conversations are to be removed before, for their workspaces. */
  removeUser(id: string): Promise<void>;
  addKey(key: ApiKey, hash: CredentialHash): Promise<void>;
  findKey(hash: CredentialHash): Promise<Credential | undefined>;
  listKeys(userId: string): Promise<ApiKey[]>;
  /** Whether there was such a key; its browser sessions end with it. */
  revokeKey(id: string, at: string): Promise<boolean>;
  /** Lets a revoked key count again. */
  restoreKey(id: string): Promise<void>;
  /** `used`: key id → when it was last used. */
  touchKeys(used: ReadonlyMap<string, string>): Promise<void>;
  addSession(
    hash: CredentialHash,
    session: { keyId: string; createdAt: string; expiresAt: string },
  ): Promise<void>;
  /** A session's credential: its own end, and whatever ends its key. */
  findSession(hash: CredentialHash): Promise<Credential | undefined>;
  endSession(hash: CredentialHash): Promise<void>;
}

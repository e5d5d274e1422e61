import type { ProviderName } from '../contract/providers.ts';
import type { Sealed } from '../secrets/vault.ts';

/** A sealed secret and the destination it is bound to. */
export interface BoundSecret {
  sealed: Sealed;
  destination: string;
}

/** The stored settings of one user: members in clear, secrets sealed beside them, by their path in the document. */
export interface StoredSettings {
  document: Record<string, unknown>;
  secrets: Record<string, BoundSecret>;
}

export interface StoredToken {
  provider: ProviderName;
  /** As it was given; "" for the provider's own host. */
  host: string;
  accountId: string | null;
  status: 'verified' | 'unverified';
  login: string | null;
  secret: BoundSecret;
}

export interface StoredCustomSecret {
  name: string;
  description: string;
  secret: BoundSecret;
}

/** One user's settings, provider tokens and custom secrets. */
export interface SettingsStore {
  load(userId: string): Promise<StoredSettings | undefined>;
  save(userId: string, settings: StoredSettings): Promise<void>;
  tokens(userId: string): Promise<StoredToken[]>;
  saveToken(userId: string, token: StoredToken): Promise<void>;
  removeTokens(userId: string): Promise<void>;
  removeToken(userId: string, provider: ProviderName): Promise<void>;
  customSecrets(userId: string): Promise<StoredCustomSecret[]>;
  saveCustomSecret(userId: string, secret: StoredCustomSecret): Promise<void>;
  /** Whether there was one. */
  removeCustomSecret(userId: string, name: string): Promise<boolean>;
}

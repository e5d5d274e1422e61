import type { Sealed } from '../secrets/vault.ts';

/** A sealed secret and the destination it is bound to. */
export interface BoundSecret {
  sealed: Sealed;
  destination: string;
}

/**
 * The stored settings of one user: members in clear, secrets sealed beside them, by their path in the document. Not to
 * be changed in place: a store may keep what it gave or was given.
 */
export interface StoredSettings {
  readonly document: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, BoundSecret>>;
}

/** One user's settings, provider tokens and custom secrets, as one document. */
export interface SettingsStore {
  load(userId: string): Promise<StoredSettings | undefined>;
  save(userId: string, settings: StoredSettings): Promise<void>;
}

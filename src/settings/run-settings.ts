import type { ProviderName } from '../contract/providers.ts';
import type { AGENTS } from '../contract/settings.ts';
import type { ModelSettings } from '../model/resolve.ts';
import type { Secret } from '../secrets/secret.ts';

/** A token that may be sent to its provider at its host, and nowhere else. */
export interface RunToken {
  provider: ProviderName;
  /** As it was stored; "" for the provider's own host. See `providerBase`. */
  host: string;
  /** Whose token it is, where the provider said so. */
  login: string | null;
  token: Secret;
}

/** The settings of one user as a run needs them, defaults filled in and secrets open: taken once, when it begins. */
export interface RunSettings {
  agent: (typeof AGENTS)[number];
  /** BCP 47 tag; "" for the user's own words. */
  language: string;
  maxIterations: number;
  /** US dollars; null for no limit. */
  maxBudget: number | null;
  /** Null when none is configured. */
  model: ModelSettings | null;
  /** By the name of their variable in the shell. */
  customSecrets: Readonly<Record<string, { secret: Secret; description: string }>>;
  tokens: readonly RunToken[];
  /** Author and committer of what the agent commits. */
  identity: { name: string; email: string };
  /** Multiplies the limits of the sandbox: 1, 2, 4 or 8. */
  resourceFactor: number;
  /** All that must never be seen in an event, an answer or a log. */
  liveSecrets: readonly Secret[];
}

import type { Secret } from '../secrets/secret.ts';

/** With what a provider is asked, and where. */
export interface ProviderAccess {
  /** Scheme, host, port and path without a final slash: {@link providerBase}. */
  base: string;
  token: Secret | null;
  /** A guarded `fetch`: the host is one that a user gave. */
  fetch: typeof globalThis.fetch;
  /** For each question. */
  deadlineMs: number;
}

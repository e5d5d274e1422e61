import type { PlainFetch } from '../egress/plain-fetch.ts';
import type { Secret } from '../secrets/secret.ts';

/** With what a provider is asked, and where. */
export interface ProviderAccess {
  /** Scheme, host, port and path without a final slash: {@link providerBase}. */
  base: string;
  token: Secret | null;
  /** Guarded: the host is one that a user gave. */
  fetch: PlainFetch;
  /** For each question. */
  deadlineMs: number;
}

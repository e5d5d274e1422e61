import type { Secret } from '../secrets/secret.ts';
import type { ProviderFailure } from './answer.ts';
import type { Reply } from './reply.ts';

/** One provider at one host, with one token or none. */
export interface ApiPlace {
  /** As people call it. */
  name: string;
  /** What all addresses begin with; nothing else is ever called. */
  root: string;
  token: Secret | null;
  /** The value of the header Authorization. */
  authorization: Secret | null;
  accept?: string;
  headers?: Readonly<Record<string, string>>;
  /** What an answer means where this provider has a custom of its own; undefined: what it means everywhere. */
  judge?: (reply: Reply) => ProviderFailure['kind'] | undefined;
}

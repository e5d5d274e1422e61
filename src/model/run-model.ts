import type { LanguageModelV4 } from '@ai-sdk/provider';

import type { ImageSource } from './images.ts';
import type { Sight } from './sight.ts';
import type { Secret } from '../secrets/secret.ts';

/** As much of a provider's client as a step is asked by. */
export type ModelClient = Pick<LanguageModelV4, 'doStream' | 'supportedUrls'>;

/** The model a run talks to, resolved from the user's settings by `resolveModel`. */
export interface RunModel {
  /** As the user wrote it, for metrics and prices. */
  readonly name: string;
  /** How many tokens it reads and writes in one call. */
  readonly window: number;
  /** Loads the provider's code when it is first needed: the service starts without any. */
  open(): Promise<ModelClient>;
  /** To keep it out of what is said about failures. */
  readonly key: Secret | null;
  /** For images by URL, which some providers do not fetch themselves. */
  readonly images: ImageSource;
  readonly sight: Sight;
}

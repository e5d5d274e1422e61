import type { LanguageModel } from 'ai';

/** The model a run talks to, resolved from the user's settings by `resolveModel`. */
export interface RunModel {
  /** As the user wrote it, for metrics, prices and the context window. */
  readonly name: string;
  /** Loads the provider's code when it is first needed: the service starts without any. */
  open(): Promise<LanguageModel>;
}

import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { ModelFailure } from './failure.ts';

export interface ModelUsage {
  /** All tokens of the request, those read from or written to a cache among them. */
  promptTokens: number;
  completionTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

/**
 * A call the model wants made. Ids differ within a step. `metadata` is opaque: some providers (Gemini) refuse the
 * next request when it does not come back as `providerOptions` of the call's part.
 */
export type ModelCall = { id: string; name: string; metadata?: SharedV4ProviderMetadata } & (
  | { valid: true; input: unknown }
  | { valid: false; raw: string; problem: string }
);

/** One whole answer of the model. It has a text, or calls, or both. */
export interface ModelStep {
  /** The provider's id of the answer. */
  id: string;
  text: string;
  /** In the order in which the model wrote them. */
  calls: ModelCall[];
  usage: ModelUsage;
  latencyMs: number;
}

/**
 * `used`: what a call without a step has used all the same, because its answer was empty or broke off; zeros where the
 * provider did not get to say how much. Not given when it was refused, and used nothing.
 */
export type ModelOutcome =
  | { ok: true; step: ModelStep }
  | { ok: false; failure: ModelFailure; used?: ModelUsage };

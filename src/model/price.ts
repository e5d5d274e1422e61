import { calcPrice, findProvider, type ModelInfo, type PriceCalculation } from '@pydantic/genai-prices';

import { PROVIDERS, routeOf, splitName } from './name.ts';
import type { ModelUsage } from './answer.ts';

/** US dollars; null when the price of that model is not known. From a list that comes with the service. */
export function priceOf(name: string, usage: ModelUsage): number | null {
  return entryOf(name, usage)?.total_price ?? null;
}

/**
 * US dollars that a call with so many tokens costs at most: none of them is read from a cache, and all that can be are
 * written to one. Null when the price of that model is not known.
 */
export function highestPrice(name: string, promptTokens: number, completionTokens: number): number | null {
  const usage = { ...NOTHING, promptTokens, completionTokens };
  const plain = priceOf(name, usage);
  const kept = priceOf(name, { ...usage, cacheWriteTokens: promptTokens });
  return plain === null || kept === null ? null : Math.max(plain, kept);
}

/** Whether the price of that model is known. */
export function isPriced(name: string): boolean {
  return priceOf(name, NOTHING) !== null;
}

/** How many tokens the model can read and write in one call; null when that is not known. */
export function contextWindow(name: string): number | null {
  const entry = entryOf(name, NOTHING);
  // Who only passes a model on seldom says how large it is; its maker does.
  return entry && (entry.model.context_window ?? madeBy(name, NOTHING)?.model.context_window ?? null);
}

let listed: readonly string[] | undefined;

/** Every model of the price list that answers in text, as `llm_model` takes it; sorted. */
export function listModels(): readonly string[] {
  return (listed ??= Object.entries(PROVIDERS)
    .filter(([prefix]) => prefix !== ALIAS)
    .flatMap(([prefix, { prices }]) =>
      prices === null ? [] : modelsOf(prices).map((id) => `${prefix}/${id}`),
    )
    .sort());
}

function modelsOf(provider: string): string[] {
  const models = findProvider({ providerId: provider })?.models ?? [];
  const ids = models.filter(answersInText).map(({ id }) => id);
  // Some ids stand for a family of models, and are the name of none.
  return ids.filter((id) => calcPrice({}, id, { providerId: provider }) !== null);
}

/** The same as `gemini/`. */
const ALIAS = 'google';

const NOTHING: ModelUsage = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

function entryOf(name: string, usage: ModelUsage): PriceCalculation | null {
  const { provider: prefix, model } = splitName(name);
  const provider = prefix ?? routeOf(name, null)?.provider ?? null;
  const prices = provider === null ? null : (PROVIDERS[provider]?.prices ?? null);
  if (prices !== null) return calcPrice(tokensOf(usage), model, { providerId: prices });
  // A proxy gives models the names that their makers do; elsewhere the same name may have another price.
  return provider === null || provider === 'litellm_proxy' ? madeBy(name, usage) : null;
}

/** The entry of whoever makes the model. */
function madeBy(name: string, usage: ModelUsage): PriceCalculation | null {
  return calcPrice(tokensOf(usage), name.slice(name.lastIndexOf('/') + 1));
}

function tokensOf({ promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens }: ModelUsage) {
  return {
    // The list refuses what some servers report: more tokens from the cache than in all.
    input_tokens: Math.max(promptTokens, cacheReadTokens + cacheWriteTokens),
    output_tokens: completionTokens,
    cache_read_tokens: cacheReadTokens,
    cache_write_tokens: cacheWriteTokens,
  };
}

/** Entries for other uses of the same interface, and beginnings of names. */
const NO_CHAT =
  /embed|whisper|tts|transcribe|image|audio|realtime|moderation|davinci|curie|babbage|instruct$|\/ada$|[-.:]$/;

function answersInText({ id, prices, deprecated }: ModelInfo): boolean {
  if (deprecated === true || NO_CHAT.test(`/${id}`)) return false;
  const listed = Array.isArray(prices) ? prices.map((entry) => entry.prices) : [prices];
  return listed.some((price) => price['output_mtok'] !== undefined && price['input_mtok'] !== undefined);
}

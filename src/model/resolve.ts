import { ServiceError } from '../errors.ts';
import type { Secret } from '../secrets/secret.ts';
import { boundedAnswers } from './bounded-answer.ts';
import { ANTHROPIC_DEMANDS, CHAT_DEMANDS, meeting } from './demands.ts';
import { ImageSource } from './images.ts';
import { PROVIDERS, routeOf, splitName, type ModelRoute } from './name.ts';
import { contextWindow } from './price.ts';
import { inChat, inResponses, reusingPrefix } from './prompt-prefix.ts';
import type { ModelClient, RunModel } from './run-model.ts';
import { Sight } from './sight.ts';

type Fetch = typeof globalThis.fetch;

export interface ModelSettings {
  /** `provider/model` as LiteLLM writes it; with a base URL any name the server there knows. */
  name: string;
  baseUrl: string | null;
  apiKey: Secret | null;
}

/** Tokens of models that the price list does not know; what most of today's have at least. */
export const USUAL_WINDOW = 128_000;

/**
 * Finds out where a model is and how it is spoken to. Calls nothing: whether the model is there shows at its first
 * call. All calls go through `fetch`.
 * @param unknownWindow tokens of a model whose window is not known
 * @throws ServiceError invalid_request, when the settings do not say where the model is
 */
export function resolveModel(settings: ModelSettings, fetch: Fetch, unknownWindow = USUAL_WINDOW): RunModel {
  const { name, apiKey } = settings;
  const route = routeOf(name, settings.baseUrl);
  if (!route) throw new ServiceError('invalid_request', whatToSet(name));
  let model: Promise<ModelClient> | undefined;
  return {
    name,
    window: contextWindow(name) ?? unknownWindow,
    key: apiKey,
    images: new ImageSource(fetch),
    sight: new Sight(),
    async open() {
      model ??= client(route, apiKey, boundedAnswers(fetch));
      return await model;
    },
  };
}

function whatToSet(name: string): string {
  const { provider } = splitName(name);
  if (provider) return `Models of ${provider} have no address of their own: set llm_base_url.`;
  const known = Object.keys(PROVIDERS).join(', ');
  return `No provider is known for the model "${name}": set llm_base_url, or begin llm_model with one of ${known} and "/".`;
}

/** The clients look into the environment for what they are not given, so they are given everything. */
async function client(
  { protocol, baseUrl: baseURL, model }: ModelRoute,
  key: Secret | null,
  fetch: Fetch,
): Promise<ModelClient> {
  const apiKey = key?.unwrap() ?? '';
  switch (protocol) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const open = (prefixed: Fetch) => createOpenAI({ baseURL, apiKey, fetch: prefixed })(model);
      return reusingPrefix(open, fetch, inResponses);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ baseURL, apiKey, fetch: meeting(ANTHROPIC_DEMANDS, fetch) })(model);
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ baseURL, apiKey, fetch })(model);
    }
    default: {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const auth = apiKey === '' ? {} : { apiKey };
      const options = { name: 'compatible', baseURL, includeUsage: true, ...auth };
      const open = (prefixed: Fetch) => createOpenAICompatible({ ...options, fetch: prefixed })(model);
      return reusingPrefix(open, meeting(CHAT_DEMANDS, fetch), inChat);
    }
  }
}

/** How a provider is spoken to. `openai` is its Responses API; `openai-compatible` its Chat Completions. */
export type Protocol = 'openai' | 'anthropic' | 'google' | 'openai-compatible';

export interface Provider {
  readonly protocol: Protocol;
  /** Null where every installation has its own. */
  readonly baseUrl: string | null;
  /** What LiteLLM adds to a base URL of the user's that is a bare origin. */
  readonly path?: string;
  /** As the price list calls it; null where it has none. */
  readonly prices: string | null;
}

const compatible = (baseUrl: string | null, prices: string | null = null, path = ''): Provider => ({
  protocol: 'openai-compatible',
  baseUrl,
  path,
  prices,
});

const GOOGLE: Provider = {
  protocol: 'google',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  path: '/v1beta',
  prices: 'google',
};

/** By the prefix that LiteLLM gives them. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: { protocol: 'openai', baseUrl: 'https://api.openai.com/v1', prices: 'openai' },
  anthropic: {
    protocol: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    path: '/v1',
    prices: 'anthropic',
  },
  gemini: GOOGLE,
  google: GOOGLE,
  azure: compatible(null, 'azure', '/openai/v1'),
  cerebras: compatible('https://api.cerebras.ai/v1', 'cerebras'),
  cohere_chat: compatible('https://api.cohere.ai/compatibility/v1', 'cohere'),
  dashscope: compatible('https://dashscope-intl.aliyuncs.com/compatible-mode/v1'),
  deepinfra: compatible('https://api.deepinfra.com/v1/openai', 'deepinfra'),
  deepseek: compatible('https://api.deepseek.com/v1', 'deepseek'),
  fireworks_ai: compatible('https://api.fireworks.ai/inference/v1', 'fireworks'),
  groq: compatible('https://api.groq.com/openai/v1', 'groq'),
  hosted_vllm: compatible(null),
  huggingface: compatible('https://router.huggingface.co/v1'),
  litellm_proxy: compatible(null),
  lm_studio: compatible('http://localhost:1234/v1'),
  mistral: compatible('https://api.mistral.ai/v1', 'mistral'),
  moonshot: compatible('https://api.moonshot.ai/v1', 'moonshotai'),
  nebius: compatible('https://api.studio.nebius.ai/v1'),
  novita: compatible('https://api.novita.ai/v3/openai', 'novita'),
  nvidia_nim: compatible('https://integrate.api.nvidia.com/v1'),
  ollama: compatible('http://localhost:11434/v1', null, '/v1'),
  ollama_chat: compatible('http://localhost:11434/v1', null, '/v1'),
  openhands: compatible('https://llm-proxy.app.all-hands.dev/v1'),
  openrouter: compatible('https://openrouter.ai/api/v1', 'openrouter'),
  perplexity: compatible('https://api.perplexity.ai', 'perplexity'),
  sambanova: compatible('https://api.sambanova.ai/v1'),
  together_ai: compatible('https://api.together.xyz/v1', 'together'),
  xai: compatible('https://api.x.ai/v1', 'x-ai'),
};

/** Where calls of a model go, and how. */
export interface ModelRoute {
  /** The prefix that names the provider; null when only a base URL is known. */
  provider: string | null;
  /** What the provider is asked for. */
  model: string;
  protocol: Protocol;
  baseUrl: string;
}

/** Null when nothing says where such a model is. A base URL of null or "" is none. */
export function routeOf(name: string, baseUrl: string | null): ModelRoute | null {
  const { provider: prefix, model } = splitName(name);
  const provider = prefix ?? (baseUrl ? null : providerOfBareName(name));
  const known = provider === null ? undefined : PROVIDERS[provider];
  if (!baseUrl)
    return known?.baseUrl ? { provider, model, protocol: known.protocol, baseUrl: known.baseUrl } : null;

  // Only OpenAI itself has the Responses API for sure; whoever else says "openai/" has Chat Completions.
  const elsewhere =
    known?.protocol === 'openai' && new URL(baseUrl).origin !== new URL(known.baseUrl ?? '').origin;
  const protocol = known === undefined || elsewhere ? 'openai-compatible' : known.protocol;
  return { provider, model, protocol, baseUrl: withPath(baseUrl, known?.path ?? '') };
}

/**
 * Where the key of this model goes: the origin of the base URL, or `provider:NAME`. A stored key is bound to it.
 */
export function modelDestination(name: string, baseUrl: string | null): string {
  if (baseUrl) return new URL(baseUrl).origin;
  const provider =
    splitName(name).provider ?? providerOfBareName(name) ?? name.toLowerCase().split('/', 1)[0];
  return `provider:${provider === 'google' ? 'gemini' : provider}`;
}

/** Takes the provider's prefix off, and that alone: `openrouter/anthropic/claude` asks for `anthropic/claude`. */
export function splitName(name: string): { provider: string | null; model: string } {
  const slash = name.indexOf('/');
  const prefix = name.slice(0, Math.max(slash, 0)).toLowerCase();
  if (!Object.hasOwn(PROVIDERS, prefix)) return { provider: null, model: name };
  return { provider: prefix, model: name.slice(slash + 1) };
}

function providerOfBareName(name: string): string | null {
  if (/^claude-/i.test(name)) return 'anthropic';
  if (/^gemini-/i.test(name)) return 'gemini';
  return /^(gpt-|chatgpt-|o[1-9](-|$)|codex-)/i.test(name) ? 'openai' : null;
}

function withPath(baseUrl: string, path: string): string {
  const bare = baseUrl.replace(/\/+$/, '');
  return new URL(bare).pathname === '/' ? bare + path : bare;
}

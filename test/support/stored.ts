import { GIT_TOKEN } from './git/forge.ts';
import type { Parley } from './parley.ts';

/** Has the user's conversations ask this model server. */
export async function storeModel(parley: Parley, { baseUrl }: { baseUrl: string }): Promise<void> {
  await parley.ok('POST', '/api/settings', {
    llm_model: 'openai/scripted',
    llm_api_key: 'sk-a-model-key',
    llm_base_url: baseUrl,
  });
}

/** Gives the user the token of a forge, as one of GitHub's. */
export async function storeGitToken(parley: Parley, { base }: { base: string }): Promise<void> {
  await parley.ok('POST', '/api/add-git-providers', {
    provider_tokens: { github: { token: GIT_TOKEN, host: base } },
  });
}

import { optionNames, optionsConfig } from '../../contract/options.ts';
import { AGENTS, SECURITY_ANALYZERS } from '../../contract/settings.ts';
import type { Routes } from '../fastify-types.ts';

const CONFIG = {
  APP_MODE: 'oss',
  GITHUB_CLIENT_ID: '',
  POSTHOG_CLIENT_KEY: '',
  FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false, HIDE_MICROAGENT_MANAGEMENT: true },
} as const;

/**
 * What can be chosen in the settings.
 * @param models names for `llm_model`, sorted; asked for when they are first wanted
 */
export function optionsRoutes(models: () => Promise<readonly string[]>): Routes {
  return (server, _options, done) => {
    server.get('/api/options/config', {
      schema: {
        tags: ['options'],
        summary: 'What the service offers',
        response: { 200: optionsConfig },
      },
      handler: () => CONFIG,
    });

    const names = (
      path: string,
      summary: string,
      list: () => readonly string[] | Promise<readonly string[]>,
    ) =>
      server.get(path, {
        schema: { tags: ['options'], summary, response: { 200: optionNames } },
        handler: async () => [...(await list())],
      });
    names('/api/options/models', 'Names for llm_model', models);
    names('/api/options/agents', 'Names for agent', () => AGENTS);
    names('/api/options/security-analyzers', 'Names for security_analyzer', () => SECURITY_ANALYZERS);

    done();
  };
}

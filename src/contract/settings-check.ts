import { z } from 'zod';
import { settingsMembers } from './settings.ts';

const { llm_model, llm_api_key, llm_base_url } = settingsMembers;

/** Body of `POST /api/settings/check`: what is omitted or null is taken from what is stored. */
export const settingsCheckBody = z.object({ llm_model, llm_api_key, llm_base_url });
export type SettingsCheckBody = z.output<typeof settingsCheckBody>;

export const settingsCheckReply = z.object({
  ok: z.boolean().describe('Whether the model answered.'),
  latency_ms: z.int().describe('Milliseconds until the whole answer was there, or until it failed.'),
  model: z.string(),
  error: z
    .object({ code: z.string(), message: z.string(), hint: z.string() })
    .optional()
    .describe('Why it did not, with what to do.'),
});

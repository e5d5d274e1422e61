import { z } from 'zod';

/** Answer of `GET /api/options/config`: how V0's page learns what it runs against. Nothing is ever sent to PostHog. */
export const optionsConfig = z.object({
  APP_MODE: z.literal('oss'),
  GITHUB_CLIENT_ID: z.literal(''),
  POSTHOG_CLIENT_KEY: z.literal(''),
  FEATURE_FLAGS: z.object({
    ENABLE_BILLING: z.literal(false),
    HIDE_LLM_SETTINGS: z.literal(false),
    HIDE_MICROAGENT_MANAGEMENT: z.literal(true),
  }),
});

/** Answer of the other options: names, sorted. */
export const optionNames = z.array(z.string());

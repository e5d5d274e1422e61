import { z } from 'zod';
import { mcpConfig } from './mcp.ts';
import { line, secretLine } from './text.ts';

export const PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'azure_devops',
  'forgejo',
  'enterprise_sso',
] as const;

export const providerName = z.enum(PROVIDERS);
export type ProviderName = z.infer<typeof providerName>;

const HOST = /^(https?:\/\/)?[A-Za-z0-9._-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~/-]*)?$/;

/** Also what the URL parser thinks of it: a port may be too large, a number no address. */
function isHost(value: string): boolean {
  return HOST.test(value) && URL.canParse(/^https?:/.test(value) ? value : `https://${value}`);
}

const host = line(500).refine(
  (value) => value === '' || isHost(value),
  'must be a host (ghe.example.com), or one with scheme, port and path (https://git.example.com:3001/forge)',
);

/** `"TOKEN"`, or the token with the host it is for. A missing or empty token or host leaves the stored one. */
export const providerToken = z.union([
  z.object({
    token: secretLine().nullish(),
    host: host.nullish(),
    user_id: line(255).nullish(),
  }),
  secretLine(),
]);

export const providerTokens = z.partialRecord(providerName, providerToken.nullable());

/** Body of `POST /api/add-git-providers`. */
export const providerTokensBody = z.object({
  mcp_config: mcpConfig.nullish(),
  provider_tokens: providerTokens.nullish(),
});
export type ProviderTokens = z.output<typeof providerTokens>;
export type ProviderToken = z.output<typeof providerToken>;
export type ProviderTokensBody = z.output<typeof providerTokensBody>;

/** How one token stands after it was stored: seen by its provider, or why that could not be. */
export const tokenStatus = z.object({
  status: z.enum(['verified', 'unverified']),
  login: z.string().optional(),
  reason: z.string().optional(),
});
export type TokenStatus = z.output<typeof tokenStatus>;

export const providerTokensReply = z.object({
  message: z.literal('Git providers stored'),
  providers: z.partialRecord(providerName, tokenStatus),
  ignored: z.array(z.string()).optional(),
});

export const tokensUnsetReply = z.object({ message: z.literal('Unset Git provider tokens') });

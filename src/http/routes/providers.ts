import { knownMembers } from '../../contract/known-members.ts';
import { problems } from '../../contract/problem.ts';
import { providerTokensBody, providerTokensReply, tokensUnsetReply } from '../../contract/providers.ts';
import type { SettingsService } from '../../settings/service.ts';
import { ignoredMembers, noteIgnored } from './ignored-members.ts';
import type { Routes } from '../fastify-types.ts';
import { untilGone } from './until-gone.ts';

/** The git provider tokens of whoever asks. */
export function providersRoutes(service: SettingsService): Routes {
  return (server, _options, done) => {
    server.post('/api/add-git-providers', {
      schema: {
        tags: ['settings'],
        summary: 'Store provider tokens',
        description:
          'Each new token is checked at its own provider and host within 3 seconds. A provider that is not named stays as it is.',
        body: providerTokensBody,
        response: {
          200: providerTokensReply,
          ...problems({
            401: 'No valid key, or a provider refused its token. Nothing is stored.',
            409: 'The host of a provider was changed meanwhile.',
            422: 'A member is not valid, or a stored token would go to another host. Nothing is stored.',
          }),
        },
      },
      preValidation: noteIgnored(knownMembers(providerTokensBody)),
      handler: async (request, reply) => {
        const signal = untilGone(reply);
        const providers = await service.storeProviderTokens(request.principal, request.body, signal);
        return { message: 'Git providers stored' as const, providers, ...ignoredMembers(request) };
      },
    });

    server.post('/api/unset-provider-tokens', {
      schema: {
        tags: ['settings'],
        summary: 'Remove all provider tokens',
        response: { 200: tokensUnsetReply },
      },
      handler: async (request) => {
        await service.unsetProviderTokens(request.principal);
        return { message: 'Unset Git provider tokens' as const };
      },
    });

    done();
  };
}

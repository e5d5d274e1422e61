import { problems } from '../../contract/problem.ts';
import { settingsCheckBody, settingsCheckReply } from '../../contract/settings-check.ts';
import type { ModelCheck } from '../../model/check.ts';
import type { ModelSettings } from '../../model/resolve.ts';
import type { SettingsService } from '../../settings/service.ts';
import type { Routes } from '../fastify-types.ts';
import { untilGone } from './until-gone.ts';

type Check = (model: ModelSettings, signal: AbortSignal) => Promise<ModelCheck>;

/** Asks a model whether it answers, before it is stored. */
export function settingsCheckRoutes(service: SettingsService, check: Check): Routes {
  return (server, _options, done) => {
    server.post('/api/settings/check', {
      config: { storesNothing: true },
      schema: {
        tags: ['settings'],
        summary: 'Try a model',
        description:
          'Makes one small call, of at most 20 seconds, with the members given and else those stored. Nothing is stored. A stored key is used for its own destination alone; "" asks without a key.',
        body: settingsCheckBody,
        response: {
          200: settingsCheckReply,
          ...problems({
            422: 'A member is not valid, nothing says where the model is, or the stored key belongs to another destination.',
          }),
        },
      },
      handler: async (request, reply) => {
        const model = await service.modelToCheck(request.principal.userId, request.body);
        const { ok, latencyMs, ...more } = await check(model, untilGone(reply));
        return { ok, latency_ms: latencyMs, model: model.name, ...more };
      },
    });
    done();
  };
}

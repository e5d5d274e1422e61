import { z } from 'zod';
import { rememberPrompt } from '../../agent/prompts/remember.ts';
import { problems } from '../../contract/problem.ts';
import type { ConversationService } from '../../conversations/service.ts';
import { ServiceError } from '../../errors.ts';
import type { Event } from '../../events/event.ts';
import { byId, INVALID } from './conversations.ts';
import type { Routes } from '../fastify-types.ts';

/** How many events before and after the place are shown. */
const AROUND = 4;
const MOST_BYTES = 1024 * 1024;

const query = z.object({
  event_id: z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be the id of an event')
    .transform(Number)
    .describe('The event where something worth remembering was learnt.'),
});

const prompted = z.object({
  status: z.literal('success'),
  prompt: z.string().describe('To be sent as a message: the agent then writes it down.'),
});

const UNKNOWN = problems({ 404: 'There is no such conversation of this user, or no such event in it.' });

export function rememberRoutes(service: ConversationService): Routes {
  return (server, _options, done) => {
    server.get('/api/conversations/:id/remember-prompt', {
      schema: {
        tags: ['conversations'],
        summary: 'A prompt to have the agent remember what it learnt at an event',
        params: byId,
        querystring: query,
        response: { 200: prompted, ...UNKNOWN, ...INVALID },
      },
      handler: async ({ principal, params, query: { event_id: at } }) => {
        const from = Math.max(0, at - AROUND);
        const stored = await service.events(principal, params.id, {
          from,
          to: at + AROUND,
          limit: 2 * AROUND + 1,
          maxBytes: MOST_BYTES,
        });
        if (!stored.some(({ id }) => id === at)) {
          throw new ServiceError('event_not_found', `The conversation has no event ${at}.`);
        }
        const events = stored.map(({ json }) => JSON.parse(json) as Event);
        return { status: 'success' as const, prompt: rememberPrompt(events, at) };
      },
    });
    done();
  };
}

import { LARGE_BODY } from '../../contract/conversations.ts';
import { feedbackBody, feedbackReply } from '../../contract/feedback.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Feedback } from '../../feedback/feedback.ts';
import { byId, INVALID, UNKNOWN } from './conversations.ts';
import type { Routes } from '../fastify-types.ts';

type Keep = (principal: Principal, conversation: string, feedback: Feedback) => Promise<number>;

/** What users think of conversations: kept here, for the operator. */
export function feedbackRoutes(keep: Keep): Routes {
  return (server, _options, done) => {
    server.post('/api/conversations/:id/submit-feedback', {
      // Pages written for V0 send all events they have along.
      bodyLimit: LARGE_BODY,
      schema: {
        tags: ['conversations'],
        summary: 'Say what one thinks of a conversation',
        description: 'Kept on this server alone; `parley feedback` shows it.',
        params: byId,
        body: feedbackBody,
        response: { 200: feedbackReply, ...UNKNOWN, ...INVALID },
      },
      handler: async ({ principal, params, body }) => {
        const id = await keep(principal, params.id, {
          polarity: body.polarity || body.feedback || null,
          permissions: body.permissions || 'private',
          email: body.email ?? '',
          version: body.version ?? '',
        });
        return {
          statusCode: 200 as const,
          body: { message: 'Feedback kept on this server', feedback_id: String(id), password: '' as const },
        };
      },
    });
    done();
  };
}

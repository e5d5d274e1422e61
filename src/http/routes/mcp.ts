import { type McpStatusView, mcpStatusView } from '../../contract/mcp.ts';
import type { ConversationService } from '../../conversations/service.ts';
import { byId, UNKNOWN } from './conversations.ts';
import type { Routes } from '../fastify-types.ts';

/** @param status how it stands with the servers of a conversation of the user */
export function mcpRoutes(
  service: Pick<ConversationService, 'keyOf'>,
  status: (conversation: { key: number; id: string; userId: string }) => Promise<McpStatusView>,
): Routes {
  return (server, _options, done) => {
    server.get('/api/conversations/:id/mcp', {
      schema: {
        tags: ['conversations'],
        summary: 'The MCP servers of a conversation, and how it stands with each',
        params: byId,
        response: { 200: mcpStatusView, ...UNKNOWN },
      },
      handler: async ({ principal, params }) => {
        const key = await service.keyOf(principal, params.id);
        return await status({ key, id: params.id, userId: principal.userId });
      },
    });
    done();
  };
}

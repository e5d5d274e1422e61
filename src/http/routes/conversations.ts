import { z } from 'zod';
import {
  conversationBody,
  conversationId,
  conversationPage,
  conversationPatch,
  conversationReply,
  conversationView,
  LARGE_BODY,
  startBody,
} from '../../contract/conversations.ts';
import { problems } from '../../contract/problem.ts';
import { line } from '../../contract/text.ts';
import type { ConversationService } from '../../conversations/service.ts';
import type { Routes } from '../fastify-types.ts';

/** The id in a path. Any text is looked up: what cannot be an id is as unknown as one that is not there. */
export const byId = z.object({ id: z.string() });

/** What every route of one conversation may answer. */
export const UNKNOWN = problems({ 404: 'There is no such conversation of this user.' });
export const INVALID = problems({ 422: 'A member is not valid. Nothing is stored.' });
export const FULL = problems({ 429: 'Too many requests, or too many conversations wait for their turn.' });

/** V0 set no bound: whoever asks for more gets a page of as many, and where the next begins. */
const MOST_LISTED = 1_000;

const listQuery = z.object({
  page_id: z
    .string()
    .regex(/^[A-Za-z0-9+/_-]{0,40}={0,2}$/, 'must be a next_page_id')
    .optional()
    .describe('The `next_page_id` of the former page.'),
  limit: z
    .string()
    .regex(/^[1-9][0-9]{0,8}$/, 'must be a number from 1')
    .transform((value) => Math.min(Number(value), MOST_LISTED))
    .optional()
    .describe(`At most this many, and never more than ${MOST_LISTED}; 20 when not given.`),
  selected_repository: line(500).optional(),
  conversation_trigger: line(100).optional(),
});

const createHeaders = z.object({
  'idempotency-key': line(255)
    .min(1)
    .optional()
    .describe('Repeats a creation without an id safely for 24 hours.'),
});

export function conversationRoutes(service: ConversationService): Routes {
  return (server, _options, done) => {
    server.post('/api/conversations', {
      bodyLimit: LARGE_BODY,
      schema: {
        tags: ['conversations'],
        summary: 'Create conversation',
        description:
          'Creates a conversation, or joins the one that has the given id. The start is not awaited.',
        headers: createHeaders,
        body: conversationBody,
        response: { 200: conversationReply, ...INVALID, ...FULL },
      },
      handler: async ({ principal, body, headers }) => ({
        status: 'ok' as const,
        message: null,
        ...(await service.create(principal, body, headers['idempotency-key'])),
      }),
    });

    server.get('/api/conversations', {
      schema: {
        tags: ['conversations'],
        summary: 'List conversations, newest first',
        querystring: listQuery,
        response: { 200: conversationPage, ...INVALID },
      },
      handler: async ({ principal, query }) => {
        const before = keyOfPage(query.page_id);
        const { results, next } = await service.list(principal, {
          limit: query.limit ?? 20,
          ...(before !== undefined && { before }),
          ...(query.selected_repository && { repository: query.selected_repository }),
          ...(query.conversation_trigger && { trigger: query.conversation_trigger }),
        });
        return { results, next_page_id: next === null ? null : pageOfKey(next) };
      },
    });

    server.get('/api/conversations/:id', {
      schema: {
        tags: ['conversations'],
        summary: 'Read a conversation',
        params: byId,
        response: { 200: conversationView, ...UNKNOWN },
      },
      handler: ({ principal, params }) => service.get(principal, params.id),
    });

    server.patch('/api/conversations/:id', {
      schema: {
        tags: ['conversations'],
        summary: 'Rename a conversation',
        params: byId,
        body: conversationPatch,
        response: { 200: z.literal(true), ...UNKNOWN, ...INVALID },
      },
      handler: async ({ principal, params, body }) => {
        await service.rename(principal, params.id, body.title);
        return true as const;
      },
    });

    server.delete('/api/conversations/:id', {
      schema: {
        tags: ['conversations'],
        summary: 'Stop a conversation and remove all of it',
        params: byId,
        response: { 200: z.literal(true), ...UNKNOWN },
      },
      handler: async ({ principal, params }) => {
        await service.remove(principal, params.id);
        return true as const;
      },
    });

    server.post('/api/conversations/:id/start', {
      schema: {
        tags: ['conversations'],
        summary: 'Start a stopped conversation, or try again',
        params: byId,
        body: startBody.nullish(),
        response: { 200: conversationReply, ...UNKNOWN, ...FULL },
      },
      handler: async ({ principal, params }) => ({
        status: 'ok' as const,
        message: null,
        ...(await service.start(principal, params.id)),
      }),
    });

    server.post('/api/conversations/:id/stop', {
      schema: {
        tags: ['conversations'],
        summary: 'Stop what runs; log and workspace stay',
        params: byId,
        body: z.unknown().optional(),
        response: { 200: conversationReply, ...UNKNOWN },
      },
      handler: async ({ principal, params }) => {
        const before = await service.stop(principal, params.id);
        const message =
          before === 'STOPPED' ? 'Conversation was not running' : 'Conversation stopped successfully';
        return {
          status: 'ok' as const,
          conversation_id: params.id,
          message,
          conversation_status: before,
        };
      },
    });

    server.post('/api/conversations/:id/exp-config', {
      schema: {
        tags: ['conversations'],
        summary: 'Keep an experiment configuration for a conversation that may come later',
        params: z.object({ id: conversationId }),
        body: z.object({ config: z.record(z.string(), z.unknown()).nullish() }),
        response: { 200: z.literal(true), ...INVALID },
      },
      handler: async ({ principal, params, body }) => {
        await service.saveExperiment(principal, params.id, body.config ?? {});
        return true as const;
      },
    });
    done();
  };
}

function pageOfKey(key: number): string {
  return Buffer.from(String(key)).toString('base64');
}

/** A page id that is none of ours leads before the first conversation: an empty page. */
function keyOfPage(page: string | undefined): number | undefined {
  if (!page) return undefined;
  const key = Number(Buffer.from(page, 'base64').toString('latin1'));
  return Number.isSafeInteger(key) && key > 0 ? key : 0;
}

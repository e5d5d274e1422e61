import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { LARGE_BODY } from '../../contract/conversations.ts';
import {
  accepted,
  clientAction,
  eventsPage,
  eventsQuery,
  MAX_EVENTS,
  messageBody,
  streamQuery,
  trajectory,
} from '../../contract/events.ts';
import { problems } from '../../contract/problem.ts';
import { act, type ActedUpon } from '../../conversations/act.ts';
import type { ConversationService } from '../../conversations/service.ts';
import { ServiceError } from '../../errors.ts';
import { isHidden } from '../../events/hidden.ts';
import type { EventRange, StoredEvent } from '../../events/log.ts';
import { writeEvents } from '../../live/sse.ts';
import { WAITS_FOR_ITS_TURN } from '../../live/status.ts';
import type { Subscriptions } from '../../live/subscriptions.ts';
import { byId, FULL, INVALID, UNKNOWN } from './conversations.ts';
import { filterOf, readMatching } from './event-filter.ts';
import type { Routes } from '../fastify-types.ts';
import { untilGone } from './until-gone.ts';

/** A page of events is not larger, but for a single event that is. */
const PAGE_BYTES = 4 * 1024 * 1024;

const TRAJECTORY_PAGE = 500;

const LIMIT = problems({ 400: 'The limit is out of range.' });
const NOT_WAITING = problems({
  409: 'No action waits for that decision, or the conversation is not started.',
});
const STREAM = {
  description: 'Events as they come, until the client goes.',
  content: { 'text/event-stream': { schema: z.string() } },
};

type Conversations = ActedUpon & Pick<ConversationService, 'keyOf' | 'get' | 'events'>;

export interface EventRoutesOptions {
  service: Conversations;
  subscriptions: Subscriptions;
  /** Whether the key or log-in that a request came with is still good. */
  stillAllowed: (request: FastifyRequest) => Promise<boolean>;
}

export function eventRoutes({ service, subscriptions, stillAllowed }: EventRoutesOptions): Routes {
  return (server, _options, done) => {
    server.get('/api/conversations/:id/events', {
      schema: {
        tags: ['events'],
        summary: 'Read events, both ways',
        description:
          'A JSON body, as V0 takes one with this GET, gives only events that match: `source`, `query` (a part of the text), `start_date`, `end_date`, `exclude_hidden`.',
        params: byId,
        querystring: eventsQuery,
        response: { 200: eventsPage, ...LIMIT, ...UNKNOWN, ...INVALID },
      },
      handler: async ({ principal, params, query, raw }, reply) => {
        const limit = query.limit ?? 20;
        if (limit < 0 || limit > MAX_EVENTS) {
          throw new ServiceError('invalid_limit', `limit must be 0 to ${MAX_EVENTS}.`);
        }
        const range: EventRange = {
          from: query.start_id ?? 0,
          ...(query.end_id !== undefined && { to: query.end_id }),
          reverse: query.reverse ?? false,
          limit,
          maxBytes: PAGE_BYTES,
        };
        const matches = await filterOf(raw);
        const read = (wanted: EventRange) => service.events(principal, params.id, wanted);
        const { page, more } = await (matches
          ? readMatching(read, range, { matches, signal: untilGone(reply) })
          : readPage(read, { ...range, limit: limit + 1 }));
        return await reply
          .type('application/json; charset=utf-8')
          .serializer((text) => String(text))
          .send(`{"events":[${page.map(({ json }) => json).join(',')}],"has_more":${more}}` as never);
      },
    });

    server.get('/api/conversations/:id/trajectory', {
      schema: {
        tags: ['events'],
        summary: 'The log without what is hidden, to read or to replay',
        params: byId,
        response: { 200: trajectory, ...UNKNOWN },
      },
      handler: async ({ principal, params }, reply) => {
        await service.keyOf(principal, params.id);
        const text = Readable.from(trajectoryText(service, principal, params.id));
        return await reply.type('application/json; charset=utf-8').send(text as never);
      },
    });

    server.get('/api/conversations/:id/events/stream', {
      // An answer without a body is not sent before its end, which this one has not.
      exposeHeadRoute: false,
      schema: {
        tags: ['events'],
        summary: 'Follow events as server-sent events',
        description:
          'A logged event has its id as `id:`; `Last-Event-ID` resumes after it. Statuses, which are not logged, come as `event: status`.',
        params: byId,
        querystring: streamQuery,
        response: { 200: STREAM, ...UNKNOWN, ...INVALID },
      },
      handler: async (request, reply) => {
        const { principal, params, query, headers } = request;
        const key = await service.keyOf(principal, params.id);
        const { queued } = await service.get(principal, params.id);
        const subscription = subscriptions.subscribe(
          key,
          firstWanted(headers['last-event-id'], query.start_id),
        );
        if (queued) subscription.offer({ statuses: [WAITS_FOR_ITS_TURN], events: [] });
        reply.hijack();
        reply.raw.writeHead(200, {
          ...Object.fromEntries(
            Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined),
          ),
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          // nginx would otherwise collect the events before it hands them on.
          'x-accel-buffering': 'no',
        });
        await writeEvents(reply.raw, { subscription, allowed: () => stillAllowed(request) });
      },
    });

    server.post('/api/conversations/:id/events', {
      bodyLimit: LARGE_BODY,
      schema: {
        tags: ['events'],
        summary: 'Add an action of the user',
        params: byId,
        body: clientAction,
        response: { 200: accepted, ...UNKNOWN, ...NOT_WAITING, ...FULL, ...INVALID },
      },
      handler: async ({ principal, params, body }) => {
        await act(service, principal, params.id, body);
        return { success: true as const };
      },
    });

    server.post('/api/conversations/:id/message', {
      bodyLimit: LARGE_BODY,
      schema: {
        tags: ['events'],
        summary: 'Say something to the agent',
        params: byId,
        body: messageBody,
        response: { 200: accepted, ...UNKNOWN, ...FULL, ...INVALID },
      },
      handler: async ({ principal, params, body }) => {
        await service.message(principal, params.id, {
          content: body.message,
          imageUrls: body.image_urls ?? [],
        });
        return { success: true as const };
      },
    });
    done();
  };
}

/** One more than wanted is asked for: it says whether there are more. So does a page that ended by its bytes. */
async function readPage(
  read: (range: EventRange) => Promise<StoredEvent[]>,
  range: EventRange,
): Promise<{ page: StoredEvent[]; more: boolean }> {
  const page = await read(range);
  if (page.length === range.limit) return { page: page.slice(0, -1), more: true };
  const last = page.at(-1);
  if (!last) return { page: [], more: false };
  const rest = range.reverse ? { ...range, to: last.id - 1 } : { ...range, from: last.id + 1 };
  if (range.reverse && last.id === 0) return { page, more: false };
  const next = await read({ ...rest, limit: 1 });
  return { page, more: next.length > 0 };
}

async function* trajectoryText(
  service: Conversations,
  principal: Principal,
  id: string,
): AsyncGenerator<string> {
  yield '{"trajectory":[';
  for (let from = 0, between = ''; ;) {
    const page = await service.events(principal, id, {
      from,
      limit: TRAJECTORY_PAGE,
      maxBytes: PAGE_BYTES,
    });
    const last = page.at(-1);
    if (!last) break;
    from = last.id + 1;
    const shown = page.filter((event) => !isHidden(event));
    if (shown.length === 0) continue;
    yield between + shown.map(({ json }) => json).join(',');
    between = ',';
  }
  yield ']}';
}

/** What a client has seen ends at `Last-Event-ID`; anything but an id means nothing seen. */
function firstWanted(lastEventId: string | string[] | undefined, startId: number | undefined): number {
  if (typeof lastEventId === 'string' && /^[0-9]{1,9}$/.test(lastEventId)) return Number(lastEventId) + 1;
  return startId ?? 0;
}

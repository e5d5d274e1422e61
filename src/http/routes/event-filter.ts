import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { isHidden } from '../../events/hidden.ts';
import type { Event } from '../../events/event.ts';
import type { EventRange, StoredEvent } from '../../events/log.ts';
import { parseJson } from '../json-body.ts';
import { invalidRequest, memberErrors } from '../validation.ts';

/** Bytes of a filter. */
const MOST_BYTES = 16 * 1024;
/** What one read of the log looks through. */
const SCANNED = 500;

const none = z.array(z.unknown()).max(0, 'cannot be given: filter by source or query').nullish();
const eventFilter = z
  .object({
    exclude_hidden: z.boolean().nullish(),
    query: z.string().nullish(),
    source: z.string().nullish(),
    start_date: z.string().nullish(),
    end_date: z.string().nullish(),
    include_types: none,
    exclude_types: none,
  })
  .nullable();
type Filter = NonNullable<z.output<typeof eventFilter>>;

export type Matches = (event: StoredEvent) => boolean;

/**
 * Which events a client wants, by the body that V0 takes with this GET; null for all.
 * @throws ServiceError invalid_request
 */
export async function filterOf(request: IncomingMessage): Promise<Matches | null> {
  const {
    'content-length': length = '0',
    'transfer-encoding': coding,
    'content-type': type,
  } = request.headers;
  if ((length === '0' && coding === undefined) || !type?.startsWith('application/json')) return null;
  const bytes = await read(request);
  if (bytes.length === 0) return null;
  const body = parseJson(bytes);
  const parsed = eventFilter.safeParse(body);
  if (!parsed.success) throw invalidRequest(memberErrors(parsed.error.issues, body, ['body']));
  const filter = parsed.data;
  return filter && Object.values(filter).some(Boolean) ? (event) => fits(event, filter) : null;
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Not destroyed when there is too much of it: it is still to be answered.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > MOST_BYTES) {
      const msg = `must have at most ${MOST_BYTES} bytes`;
      throw invalidRequest([{ loc: ['body'], msg, type: 'too_big' }]);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function fits(stored: StoredEvent, filter: Filter): boolean {
  const { exclude_hidden: visible, query, source, start_date: start, end_date: end } = filter;
  if (query && !stored.json.toLowerCase().includes(query.toLowerCase())) return false;
  if (visible && isHidden(stored)) return false;
  if (!source && !start && !end) return true;
  const event = JSON.parse(stored.json) as Event;
  // ISO 8601 without a zone, as in V0: what is earlier is smaller.
  return (
    (!source || event.source === source) &&
    (!start || event.timestamp >= start) &&
    (!end || event.timestamp <= end)
  );
}

/** A page of the events that match, and whether there are more. Looks through the log a piece at a time. */
export async function readMatching(
  read: (range: EventRange) => Promise<readonly StoredEvent[]>,
  wanted: EventRange,
  { matches, signal }: { matches: Matches; signal: AbortSignal },
): Promise<{ page: StoredEvent[]; more: boolean }> {
  const page: StoredEvent[] = [];
  let bytes = 0;
  let range: EventRange = { ...wanted, limit: SCANNED };
  for (;;) {
    signal.throwIfAborted();
    const events = await read(range);
    for (const event of events) {
      if (!matches(event)) continue;
      bytes += event.json.length;
      if (page.length === wanted.limit || (page.length > 0 && bytes > wanted.maxBytes))
        return { page, more: true };
      page.push(event);
    }
    const last = events.at(-1);
    if (!last || (range.reverse && last.id === 0)) return { page, more: false };
    range = range.reverse ? { ...range, to: last.id - 1 } : { ...range, from: last.id + 1 };
  }
}

import type { Socket as Connection } from 'engine.io';
import type { StoredEvent } from '../events/log.ts';
import { isStateEvent, liveText, replayText } from './socket-rules.ts';
import type { Item, Subscription } from './subscriptions.ts';

export interface FeedOptions {
  connection: Connection;
  subscription: Subscription;
  /** The newest event there was when the client came: up to it events are replayed, after it they are live. */
  newest: number;
  /** The newest of those that tell the agent's state. */
  newestState: number;
  /** Milliseconds a client may leave its connection full before it is dropped; it can come back and go on. */
  stalled: number;
}

/** Writes a subscription to a Socket.IO connection until either side ends; false when the client took too little. */
export async function feed(options: FeedOptions): Promise<boolean> {
  const { connection, subscription } = options;
  for (let items = await subscription.take(); items; items = await subscription.take()) {
    const texts = items.map((item) => textOf(item, options)).filter((text) => text !== null);
    if (texts.length > 0 && !(await sent(connection, texts, options.stalled))) return false;
  }
  return true;
}

function textOf(item: Item, { newest, newestState }: FeedOptions): string | null {
  if (item.kind === 'status') return JSON.stringify(item.status);
  return item.event.id <= newest ? replayText(item.event, newestState) : liveText(item.event);
}

/** An `oh_event` as a packet (Socket.IO protocol 5: EVENT in the default namespace): its JSON is handed on as it stands. */
export function eventPacket(json: string): string {
  return `2["oh_event",${json}]`;
}

/**
 * Whether the client's connection took it all, within the time it has. Nothing more is taken from the log before, so
 * that a client that does not read costs no more than this.
 */
async function sent(connection: Connection, texts: readonly string[], ms: number): Promise<boolean> {
  return await new Promise<boolean>((resolve) => {
    const end = (done: boolean) => (): void => {
      clearTimeout(late);
      connection.off('close', onEnd);
      connection.off('upgrade', onEnd);
      resolve(done);
    };
    // A closed connection ends the subscription; what waits at an upgrade goes out by the new transport.
    const onEnd = end(true);
    const late = setTimeout(end(false), ms);
    connection.once('close', onEnd);
    connection.once('upgrade', onEnd);
    for (const [index, text] of texts.entries()) {
      connection.write(eventPacket(text), {}, index === texts.length - 1 ? onEnd : undefined);
    }
    if (connection.readyState !== 'open') onEnd();
  });
}

export interface LogEnd {
  newest: number;
  newestState: number;
}

/** Where a log ends now, and where its newest state of the agent stands; -1 for none after `after`. */
export async function endOfLog(
  read: (range: { to?: number; limit: number }) => Promise<readonly StoredEvent[]>,
  after: number,
): Promise<LogEnd> {
  const end: LogEnd = { newest: -1, newestState: -1 };
  for (let to: number | undefined; ;) {
    const page = await read({ ...(to !== undefined && { to }), limit: to === undefined ? 20 : 200 });
    const [first] = page;
    if (end.newest < 0 && first) end.newest = first.id;
    const state = page.find(isStateEvent);
    if (state) return { ...end, newestState: state.id };
    const last = page.at(-1);
    if (!last || last.id <= Math.max(after + 1, 0)) return end;
    to = last.id - 1;
  }
}

import type { Socket as Connection } from 'engine.io';
import type { StoredEvent } from '../events/log.ts';
import { isStateEvent, liveText, replayText } from './socket-rules.ts';
import type { Batch, Subscription } from './subscription.ts';

/** What a client may leave unsent and be given more, in characters. */
const ROOM = 64 * 1024;

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
  const { connection, subscription, stalled } = options;
  let unsent = 0;
  const write = (batch: Batch): void => {
    for (const text of textsOf(batch, options)) {
      unsent += text.length;
      connection.write(eventPacket(text), {}, () => {
        unsent -= text.length;
        subscription.resume();
      });
    }
  };
  return await subscription.follow({ write, hasRoom: () => unsent < ROOM }, stalled);
}

function textsOf({ statuses, events }: Batch, { newest, newestState }: FeedOptions): string[] {
  return [
    ...statuses.map((status) => JSON.stringify(status)),
    ...events
      .map((event) => (event.id <= newest ? replayText(event, newestState) : liveText(event)))
      .filter((text) => text !== null),
  ];
}

/** An `oh_event` as a packet (Socket.IO protocol 5: EVENT in the default namespace): its JSON is handed on as it stands. */
export function eventPacket(json: string): string {
  return `2["oh_event",${json}]`;
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

import type { ServerResponse } from 'node:http';
import type { Item, Subscription } from './subscriptions.ts';

export interface SseTimes {
  /** Milliseconds between two comments, so that proxies and clients see that the connection lives. */
  comment: number;
  /** Milliseconds a client may leave its connection full before it is dropped; it can resume where it was. */
  stalled: number;
}

const TIMES: SseTimes = { comment: 15_000, stalled: 30_000 };

export interface SseOptions {
  subscription: Subscription;
  /** Asked before each comment: whether who watches still may. */
  allowed: () => Promise<boolean>;
  times?: SseTimes;
}

/**
 * Writes a subscription as server-sent events (WHATWG HTML, 9.2) until either side ends: a logged event with its id,
 * a status as `event: status` without one. Takes no more from the subscription than the connection has room for.
 */
export async function writeEvents(
  response: ServerResponse,
  { subscription, allowed, times = TIMES }: SseOptions,
): Promise<void> {
  const close = (): void => subscription.close();
  response.on('close', close);
  const comments = setInterval(() => {
    if (response.writableNeedDrain) return;
    response.write(':\n\n');
    allowed().then((still) => still || close(), close);
  }, times.comment);
  try {
    response.write(':\n\n');
    for (let items = await subscription.take(); items; items = await subscription.take()) {
      if (!response.write(items.map(frame).join('')) && !(await drained(response, times.stalled))) break;
    }
  } finally {
    clearInterval(comments);
    subscription.close();
    response.end();
    // What a stalled client never reads would be held for it: end() alone waits for it to be sent.
    if (response.writableNeedDrain) response.destroy();
  }
}

/** JSON has no line breaks outside of strings, and none inside: one `data:` line holds it. */
function frame(item: Item): string {
  return item.kind === 'event'
    ? `id: ${item.event.id}\ndata: ${item.event.json}\n\n`
    : `event: status\ndata: ${JSON.stringify(item.status)}\n\n`;
}

/** Whether the connection took what was written, within the time a client has. */
async function drained(response: ServerResponse, ms: number): Promise<boolean> {
  return await new Promise<boolean>((resolve) => {
    const end = (done: boolean) => (): void => {
      clearTimeout(late);
      response.off('drain', onDrain);
      response.off('close', onClose);
      resolve(done);
    };
    const onDrain = end(true);
    const onClose = end(false);
    const late = setTimeout(onClose, ms);
    response.once('drain', onDrain);
    response.once('close', onClose);
    if (response.destroyed) onClose();
  });
}

import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { StoredEvent } from '../events/log.ts';
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
  response.write(':\n\n');
  const { out, write } = outputOf(response);
  const comments = setInterval(() => {
    if (out.writableNeedDrain) return;
    response.write(':\n\n');
    allowed().then((still) => still || close(), close);
  }, times.comment);
  try {
    for (let items = await subscription.take(); items; items = await subscription.take()) {
      write(items);
      if (out.writableNeedDrain && !(await drained(out, times.stalled))) break;
    }
  } finally {
    clearInterval(comments);
    subscription.close();
    response.end();
    // What a stalled client never reads would be held for it: end() alone waits for it to be sent.
    if (out.writableNeedDrain) response.destroy();
  }
}

/** Where a stream's items go once its head was written, and how. */
interface Output {
  out: Writable;
  write: (items: readonly Item[]) => void;
}

/**
 * Items go to the socket as chunks (RFC 9112, 7.1) that are made once for all who follow the conversation: to let each
 * response make its own costs more than all else that a client costs. HTTP/1.0 has no chunks, and a response that
 * waits behind another on its connection has no socket yet: there the response writes.
 */
function outputOf(response: ServerResponse): Output {
  const { socket, chunkedEncoding } = response;
  if (!socket || !chunkedEncoding) {
    return { out: response, write: (items) => void response.write(items.map(textOf).join('')) };
  }
  const write = (items: readonly Item[]): void => {
    socket.cork();
    for (const item of items) socket.write(chunkOf(item));
    socket.uncork();
  };
  return { out: socket, write };
}

const chunks = new WeakMap<StoredEvent, Buffer>();

function chunkOf(item: Item): Buffer {
  if (item.kind === 'status') return chunk(textOf(item));
  const made = chunks.get(item.event) ?? chunk(textOf(item));
  chunks.set(item.event, made);
  return made;
}

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

/** JSON has no line breaks outside of strings, and none inside: one `data:` line holds it. */
function textOf(item: Item): string {
  return item.kind === 'event'
    ? `id: ${item.event.id}\ndata: ${item.event.json}\n\n`
    : `event: status\ndata: ${JSON.stringify(item.status)}\n\n`;
}

/** Whether the connection took what was written, within the time a client has. */
async function drained(out: Writable, ms: number): Promise<boolean> {
  return await new Promise<boolean>((resolve) => {
    const end = (done: boolean) => (): void => {
      clearTimeout(late);
      out.off('drain', onDrain);
      out.off('close', onClose);
      resolve(done);
    };
    const onDrain = end(true);
    const onClose = end(false);
    const late = setTimeout(onClose, ms);
    out.once('drain', onDrain);
    out.once('close', onClose);
    if (out.destroyed) onClose();
  });
}

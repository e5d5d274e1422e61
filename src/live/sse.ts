import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Batch, Sink, Subscription } from './subscription.ts';

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
 * a status as `event: status` without one.
 */
export async function writeEvents(
  response: ServerResponse,
  { subscription, allowed, times = TIMES }: SseOptions,
): Promise<void> {
  const close = (): void => subscription.close();
  response.on('close', close);
  // It may have gone before anybody listened.
  if (response.destroyed) close();
  response.write(':\n\n');
  const output = outputOf(response);
  const { stream } = output;
  const resume = (): void => subscription.resume();
  stream.on('drain', resume);
  const comments = setInterval(() => {
    if (!output.hasRoom()) return;
    response.write(':\n\n');
    allowed().then((still) => still || close(), close);
  }, times.comment);
  try {
    await subscription.follow(output, times.stalled);
  } finally {
    clearInterval(comments);
    stream.off('drain', resume);
    subscription.close();
    response.end();
    // What a stalled client never reads would be held for it: end() alone waits for it to be sent.
    if (!output.hasRoom()) response.destroy();
  }
}

/**
 * Where a stream's batches go once its head was written, and as what. One object with its stream and no more: of
 * thousands of clients, what a delivery has to look at comes from memory each time, and that is most of its cost here.
 */
class Output implements Sink {
  readonly stream: Writable;
  readonly #encode: (batch: Batch) => Buffer | string;

  constructor(stream: Writable, encode: (batch: Batch) => Buffer | string) {
    this.stream = stream;
    this.#encode = encode;
  }

  write(batch: Batch): void {
    this.stream.write(this.#encode(batch));
  }

  hasRoom(): boolean {
    return !this.stream.writableNeedDrain;
  }
}

/**
 * Batches go to the socket as chunks (RFC 9112, 7.1) that are made once for all who follow the conversation: to let
 * each response make its own costs more than all else that a client costs. HTTP/1.0 has no chunks, and a response that
 * waits behind another on its connection has no socket yet: there the response writes.
 */
function outputOf(response: ServerResponse): Output {
  const { socket, chunkedEncoding } = response;
  return socket && chunkedEncoding ? new Output(socket, chunkOf) : new Output(response, textOf);
}

const chunks = new WeakMap<Batch, Buffer>();

function chunkOf(batch: Batch): Buffer {
  const made = chunks.get(batch);
  if (made) return made;
  const text = textOf(batch);
  const chunk = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  chunks.set(batch, chunk);
  return chunk;
}

/** JSON has no line breaks outside of strings, and none inside: one `data:` line holds it. */
function textOf({ statuses, events }: Batch): string {
  const texts = [
    ...statuses.map((status) => `event: status\ndata: ${JSON.stringify(status)}\n\n`),
    ...events.map(({ id, json }) => `id: ${id}\ndata: ${json}\n\n`),
  ];
  return texts.join('');
}

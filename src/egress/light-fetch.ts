import { STATUS_CODES } from 'node:http';
import { HostNotFound } from './destination.ts';
import { isRedirect } from './guarded-fetch.ts';
import { EgressRefused } from './policy.ts';
import type { PlainAnswer, PlainFetch } from './plain-fetch.ts';

/** The last that HTTP has (RFC 9110, 15): a `Response` takes none above it. */
const LAST_STATUS = 599;

/**
 * A `fetch` for those who want one and ask by a text or by bytes: by the plain one, whose request is with the kernel a
 * millisecond sooner, as no stream stands between those and the connection. Who redirects is asked again by `whole`,
 * which follows.
 * Fails as a guarded `fetch` does: by EgressRefused, by the signal's reason, or by a TypeError whose cause says why.
 */
export function lightFetch(plain: PlainFetch, whole: typeof fetch): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init;
    const isPlain = typeof body === 'string' || body instanceof Uint8Array;
    if (input instanceof Request || !isPlain || !signal) return await whole(input, init);
    const asked = Object.fromEntries(new Headers(headers));
    const answer = await orAsFetch('fetch failed', signal, () =>
      plain(new URL(input), { method, headers: asked, body, redirect: 'manual', signal }),
    );
    const { status, body: said } = answer;
    if (!isRedirect(status) && status <= LAST_STATUS) return responseOf(answer, signal);
    if (said) await leave(said);
    if (isRedirect(status)) return await whole(input, init);
    const cause = new Error(`the answer has the status ${status}, which HTTP does not have`);
    throw new TypeError('fetch failed', { cause });
  };
}

/** Lets go of its connection: an iterator ends what it reads only once it has begun. */
async function leave(body: AsyncIterable<Uint8Array>): Promise<void> {
  const pieces = body[Symbol.asyncIterator]();
  // Broken off by the other side, it is left, too.
  await pieces.next().catch(() => {});
  await pieces.return?.();
}

function responseOf({ status, headers, body }: PlainAnswer, signal: AbortSignal): Response {
  const hasNone = body === null || status === 204 || status === 205 || status === 304;
  const statusText = STATUS_CODES[status] ?? '';
  return new Response(hasNone ? null : streamed(body, signal), { status, statusText, headers: [...headers] });
}

function streamed(body: AsyncIterable<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await orAsFetch('terminated', signal, () => pieces.next());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await pieces.return?.()),
  });
}

async function orAsFetch<T>(message: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof EgressRefused || cause instanceof HostNotFound) throw cause;
    throw new TypeError(message, { cause });
  }
}

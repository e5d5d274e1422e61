import { type Allowance, SaidTooMuch } from './bounds.ts';
import type { RemoteServer } from './server.ts';

type Fetch = typeof globalThis.fetch;

/**
 * `fetch` for one server. Its key goes along to its own origin and nowhere else, and what it answers is counted as it
 * comes: a message that never ends, or events without end, break the connection.
 * @param broken told when the server says too much, or when an answer that was under way breaks off: its client would
 * wait for the rest
 */
export function remoteFetch(
  { url, apiKey, kind }: RemoteServer,
  fetch: Fetch,
  allowance: Allowance,
  broken: (reason: string) => void,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const { origin } = new URL(url);
  return async (to, init = {}) => {
    try {
      if (init.method === 'POST') allowance.ask();
    } catch (error) {
      if (error instanceof SaidTooMuch) broken(error.message);
      throw error;
    }
    const headers = new Headers(init.headers);
    headers.delete('authorization');
    if (apiKey && new URL(to).origin === origin) headers.set('authorization', `Bearer ${apiKey.unwrap()}`);
    const response = await fetch(to, { ...init, headers });
    if (!response.body) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    // The stream of streamable HTTP that answers nothing may end, and is opened again; the one of SSE is the connection.
    const matters = init.method === 'POST' || kind === 'sse';
    const lives = kind === 'sse' && init.method !== 'POST';
    const told = (reason: string): void => {
      if (matters && !init.signal?.aborted) broken(reason);
    };
    const body = counted(response.body, isStream, allowance, {
      failed: (error) => {
        if (error instanceof SaidTooMuch) broken(error.message);
        else told('Its answer broke off.');
      },
      ended: () => lives && told('It closed the connection.'),
    });
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  };
}

function counted(
  body: ReadableStream<Uint8Array>,
  isStream: boolean,
  allowance: Allowance,
  told: { failed: (error: unknown) => void; ended: () => void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let message = 0;
  let tail = '';
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          told.ended();
          return controller.close();
        }
        const since = isStream ? sinceLastEvent(tail, value) : null;
        tail = Buffer.from(value.subarray(-2)).toString('latin1');
        allowance.take(value.byteLength, message + value.byteLength, isStream ? linesIn(value) : 0);
        message = since ?? message + value.byteLength;
        controller.enqueue(value);
      } catch (error) {
        told.failed(error);
        void reader.cancel().catch(() => {});
        controller.error(error);
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
    },
  });
}

/** How many lines end in it; one that ends as on Windows counts twice. */
function linesIn(chunk: Uint8Array): number {
  let lines = 0;
  for (const byte of chunk) if (byte === 10 || byte === 13) lines += 1;
  return lines;
}

/** How many bytes follow the last empty line, which ends an event; null when there is none. */
function sinceLastEvent(tail: string, chunk: Uint8Array): number | null {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const inside = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\n\r\n'), text.lastIndexOf('\r\r'));
  if (inside !== -1) return text.length - inside;
  const border = tail + text.subarray(0, 2).toString('latin1');
  return /\n\r?\n|\r\r/.test(border) ? text.length : null;
}

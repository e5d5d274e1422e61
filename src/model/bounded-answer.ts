type Fetch = typeof globalThis.fetch;

const MIB = 1024 * 1024;
/** Of one answer as it comes: some write two hundred bytes around each word. */
const MOST_BYTES = 64 * MIB;

/** Ends answers that have no end: whoever sets `llm_base_url` decides how much is sent, and all users share the memory. */
export function boundedAnswers(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(bounded(response.body), { status, statusText, headers });
  };
}

function bounded(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let left = MOST_BYTES;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      left -= value.byteLength;
      if (left >= 0) return controller.enqueue(value);
      const reason = new Error(`The answer is larger than ${MOST_BYTES / MIB} MiB.`);
      controller.error(reason);
      await reader.cancel(reason);
    },
    cancel: async (reason) => await reader.cancel(reason),
  });
}

type Download = (
  wanted: { url: URL; isUrlSupportedByModel: boolean }[],
) => Promise<({ data: Uint8Array; mediaType: string | undefined } | null)[]>;

const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** Fetches what the provider does not fetch itself, by the fetch that knows where we may go. */
export function downloadThrough(fetch: typeof globalThis.fetch, signal: AbortSignal): Download {
  return async (wanted) =>
    await Promise.all(
      wanted.map(async ({ url, isUrlSupportedByModel }) =>
        isUrlSupportedByModel ? null : await download(url, fetch, signal),
      ),
    );
}

async function download(url: URL, fetch: typeof globalThis.fetch, signal: AbortSignal) {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new ImageError(`The image at ${url.host} was answered with ${response.status}.`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_IMAGE_BYTES) throw new ImageError(`The image at ${url.host} is larger than 10 MiB.`);
    chunks.push(chunk);
  }
  const mediaType = response.headers.get('content-type')?.split(';', 1)[0]?.trim();
  return { data: Buffer.concat(chunks), mediaType };
}

/** An image of the conversation could not be given to the model. Its message is for the user. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
}

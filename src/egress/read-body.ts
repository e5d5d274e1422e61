/** The body of an answer, or null when it is longer than `mostBytes`: then nothing more of it is read. */
export async function readBody(
  response: { body: AsyncIterable<Uint8Array> | null },
  mostBytes: number,
): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop ends the stream.
    if (bytes > mostBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

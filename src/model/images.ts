import type { LanguageModelV4 } from '@ai-sdk/provider';
import { readBody } from '../egress/read-body.ts';
import { EgressRefused } from '../egress/policy.ts';
import type { Message, UserMessage, UserPart } from './message.ts';
import { showsImages } from './sight.ts';
import { TimeLimit } from '../time-limit.ts';

interface Image {
  data: Uint8Array;
  mediaType: string | undefined;
}

type SupportedUrls = Awaited<LanguageModelV4['supportedUrls']>;

const MIB = 1024 * 1024;
const MAX_IMAGE_BYTES = 10 * MIB;
/** Milliseconds until an image is there. */
const DEADLINE_MS = 30_000;
/** Of all images of one request. */
const MOST_BYTES = 50 * MIB;
/** Of the images that one run keeps, as each of its steps needs them again. */
const MOST_KEPT_BYTES = 20 * MIB;

/** Fetches images that providers do not fetch themselves, by the fetch that knows where we may go: each once in a run. */
export class ImageSource {
  readonly #fetch: typeof globalThis.fetch;
  readonly #kept = new Map<string, Image>();
  #bytes = 0;
  /** What became of messages whose images are all here: one object each, by which the next request knows it again. */
  readonly #filled = new WeakMap<UserMessage, { message: UserMessage; bytes: number }>();

  constructor(fetch: typeof globalThis.fetch) {
    this.#fetch = fetch;
  }

  /**
   * The messages with the images themselves where the provider does not fetch them. One after the other, so that those
   * of one request take no more memory than is told.
   * @throws ImageError, the signal's reason
   */
  async fetched(
    messages: readonly Message[],
    supportedUrls: SupportedUrls,
    signal: AbortSignal,
  ): Promise<readonly Message[]> {
    if (!showsImages(messages)) return messages;
    const { detectMediaType, isUrlSupported } = await import('@ai-sdk/provider-utils');
    let bytes = 0;
    const withImage = async (part: UserPart): Promise<UserPart> => {
      if (part.type === 'text') return part;
      const { mediaType, data: source } = part;
      if (source.type === 'data') return { ...part, mediaType: detected(source.data) ?? mediaType };
      if (source.type !== 'url') return part;
      const { url } = source;
      if (isUrlSupported({ url: url.href, mediaType, supportedUrls })) return part;
      const image = await this.#image(url, signal);
      bytes += image.data.byteLength;
      if (bytes > MOST_BYTES) {
        const reason = `The image at ${url.host} is one too many: together they are larger than ${MOST_BYTES / MIB} MiB.`;
        throw new ImageError(url, reason);
      }
      return {
        ...part,
        data: { type: 'data', data: image.data },
        mediaType: detected(image.data) ?? image.mediaType ?? mediaType,
      };
    };
    // What it is counts, not what is said of it: providers refuse one that is called another.
    const detected = (data: Uint8Array | string) => detectMediaType({ data, topLevelType: 'image' });
    const withImages = async (message: UserMessage): Promise<UserMessage> => {
      const known = this.#filled.get(message);
      bytes += known?.bytes ?? 0;
      if (known) return known.message;
      const before = bytes;
      const content: UserPart[] = [];
      for (const part of message.content) content.push(await withImage(part));
      const filled = { ...message, content };
      if (message.content.every((part, n) => part === content[n] || this.#isHere(part))) {
        this.#filled.set(message, { message: filled, bytes: bytes - before });
      }
      return filled;
    };
    const filled: Message[] = [];
    for (const message of messages) {
      const isToFill = message.role === 'user' && showsImages([message]);
      filled.push(isToFill ? await withImages(message) : message);
    }
    return filled;
  }

  #isHere(part: UserPart): boolean {
    return part.type === 'text' || part.data.type !== 'url' || this.#kept.has(part.data.url.href);
  }

  async #image(url: URL, signal: AbortSignal): Promise<Image> {
    const kept = this.#kept.get(url.href);
    if (kept) return kept;
    const image = await fetchImage(url, this.#fetch, signal);
    const { byteLength } = image.data;
    if (this.#bytes + byteLength > MOST_KEPT_BYTES) return image;
    this.#bytes += byteLength;
    this.#kept.set(url.href, image);
    return image;
  }
}

async function fetchImage(url: URL, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<Image> {
  const failed = (how: string): ImageError => new ImageError(url, `The image at ${url.host} ${how}.`);
  using limit = new TimeLimit(signal, DEADLINE_MS);
  let response: Response;
  let data: Buffer | null;
  try {
    response = await fetch(url, { signal: limit.signal });
    if (!response.ok) await response.body?.cancel();
    data = response.ok ? await readBody(response, MAX_IMAGE_BYTES) : null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EgressRefused) throw new ImageError(url, `${error.message}.`);
    throw failed(limit.isOver ? `did not come within ${DEADLINE_MS / 1000} s` : 'could not be fetched');
  }
  if (!response.ok) throw failed(`was answered with ${response.status}`);
  if (data === null) throw failed('is larger than 10 MiB');
  const mediaType = response.headers.get('content-type')?.split(';', 1)[0]?.trim();
  return { data, mediaType };
}

/** An image of the conversation could not be given to the model. Its message is for the user. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly url: URL;

  constructor(url: URL, message: string) {
    super(message);
    this.url = url;
  }
}

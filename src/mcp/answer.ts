import { z } from 'zod';

import { isTooDeep } from '../nesting.ts';
import type { Called } from './client.ts';

/** What a server answered to a call, bounded. */
export interface McpAnswer {
  /** As the protocol has it, texts cut in the middle and images in their place by name: see `images`. */
  content: readonly Record<string, unknown>[];
  /** `data:` addresses of the images that a model can see. */
  images: readonly string[];
  /** The tool says that it failed. */
  isError: boolean;
}

/** Characters of all texts of an answer together. */
const MAX_TEXT = 24_000;
const MAX_BLOCKS = 100;
const MAX_IMAGES = 4;
/** Characters of one image in base64: what providers of models take. */
const MAX_IMAGE = 5_000_000;
const SEEN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const blockOf = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal('audio'), data: z.string(), mimeType: z.string() }),
  z.object({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string().optional(),
    description: z.string().optional(),
  }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({
      uri: z.string(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
  }),
]);
type Block = z.output<typeof blockOf>;

/** @param cutMiddle cuts a text to so many characters, and says so where it was */
export function boundedAnswer(
  { content, structuredContent, isError }: Called,
  cutMiddle: (text: string, max: number) => string,
): McpAnswer {
  const bounds = new Bounds(cutMiddle);
  const blocks = content.slice(0, MAX_BLOCKS).map((entry) => bounds.block(entry));
  if (content.length > MAX_BLOCKS)
    blocks.push(note(`${content.length - MAX_BLOCKS} more parts are left out`));
  // A tool that answers with structure is to say it as a text too, for those who do not know structures.
  const said = blocks.some(({ type }) => type === 'text');
  if (structuredContent !== undefined && !said) {
    const isLost = isTooDeep(structuredContent);
    blocks.push(
      isLost
        ? note('a structure is left out: it is nested too deep')
        : bounds.text(JSON.stringify(structuredContent)),
    );
  }
  return { content: blocks, images: bounds.images, isError };
}

class Bounds {
  readonly images: string[] = [];
  readonly #cutMiddle: (text: string, max: number) => string;
  #left = MAX_TEXT;

  constructor(cutMiddle: (text: string, max: number) => string) {
    this.#cutMiddle = cutMiddle;
  }

  block(entry: unknown): Record<string, unknown> {
    const parsed = blockOf.safeParse(entry);
    if (!parsed.success) return note('a part that is of no known kind is left out');
    const block: Block = parsed.data;
    if (block.type === 'text') return this.text(block.text);
    switch (block.type) {
      case 'image':
        return this.#image(block.mimeType, block.data);
      case 'audio':
        return note(`a sound (${named(block.mimeType)}) is left out`);
      case 'resource_link':
        return this.text([`Resource ${block.uri}`, block.name, block.description].filter(Boolean).join(': '));
      default:
        return this.#resource(block.resource);
    }
  }

  text(text: string): Record<string, unknown> {
    const well = text.toWellFormed().replaceAll('\0', '');
    if (this.#left < 200 && well.length > this.#left)
      return note('a text is left out: the answer is too long');
    const cut = this.#cutMiddle(well, this.#left);
    this.#left -= cut.length;
    return { type: 'text', text: cut };
  }

  #resource({ uri, mimeType, text, blob }: Extract<Block, { type: 'resource' }>['resource']) {
    if (text !== undefined) return this.text(`Resource ${uri.slice(0, 500)}:\n${text}`);
    if (blob !== undefined && mimeType !== undefined && SEEN.includes(mimeType))
      return this.#image(mimeType, blob);
    return note(`the resource ${uri.slice(0, 500)} (${named(mimeType ?? 'of no known type')}) is left out`);
  }

  #image(mimeType: string, data: string): Record<string, unknown> {
    const what = `an image (${named(mimeType)}, ${data.length} characters) is left out`;
    if (!SEEN.includes(mimeType)) return note(`${what}: PNG, JPEG, GIF and WebP can be seen`);
    if (data.length > MAX_IMAGE) return note(`${what}: at most ${MAX_IMAGE} are taken`);
    if (this.images.length === MAX_IMAGES) return note(`${what}: an answer has at most ${MAX_IMAGES}`);
    if (!BASE64.test(data)) return note(`${what}: it is not in base64`);
    this.images.push(`data:${mimeType};base64,${data}`);
    return { type: 'image', mimeType, data: `image ${this.images.length}` };
  }
}

function note(what: string): Record<string, unknown> {
  return { type: 'text', text: `[${what}]` };
}

function named(mimeType: string): string {
  return mimeType.slice(0, 100);
}

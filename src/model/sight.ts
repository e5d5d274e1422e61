import type { FilePart, ImagePart, ModelMessage, TextPart, UserModelMessage } from 'ai';

/** Which images of a request could not be given to the model. */
export interface UnseenImages {
  /** The address of one that could not be fetched; null when the provider refused those of the request, each and all. */
  url: string | null;
  /** Why, a sentence for the user. */
  reason: string;
}

const INSTEAD = '[There is an image here that you cannot be shown.]';

/**
 * What a model sees of the images of a conversation, as learned from refusals: one that cannot be had, or a model that
 * takes none, ends no run. For one run, as the next may have another model.
 */
export class Sight {
  readonly #unseen = new Set<string>();
  #blind = false;
  /** What the user is to be told. */
  readonly notices: string[] = [];

  /** The messages with a text in the place of what is not seen. */
  shown(messages: readonly ModelMessage[]): ModelMessage[] {
    return messages.map((message) =>
      message.role === 'user' && this.#hides(message) ? this.#without(message) : message,
    );
  }

  /** Takes in that images were refused. False when that was known: then it helps nothing to ask again. */
  learn({ url, reason }: UnseenImages): boolean {
    if (url === null ? this.#blind : this.#unseen.has(url)) return false;
    if (url === null) this.#blind = true;
    else this.#unseen.add(url);
    this.notices.push(reason);
    return true;
  }

  #hides({ content }: UserModelMessage): boolean {
    return typeof content !== 'string' && content.some((part) => this.#isUnseen(part));
  }

  #without(message: UserModelMessage): UserModelMessage {
    if (typeof message.content === 'string') return message;
    const content = message.content.map((part) =>
      this.#isUnseen(part) ? { type: 'text' as const, text: INSTEAD } : part,
    );
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    // Who takes no images may take no parts either.
    return { ...message, content: texts.length === content.length ? texts.join('\n\n') : content };
  }

  #isUnseen(part: TextPart | ImagePart | FilePart): boolean {
    const url = imageOf(part);
    return url !== null && (this.#blind || this.#unseen.has(url));
  }
}

/** Whether a request shows an image. */
export function showsImages(messages: readonly ModelMessage[]): boolean {
  return messages.some(
    ({ role, content }) =>
      role === 'user' && typeof content !== 'string' && content.some((part) => imageOf(part) !== null),
  );
}

/** The address of an image; "" for one without. Null for what is none. */
function imageOf(part: TextPart | ImagePart | FilePart): string | null {
  if (part.type === 'text') return null;
  const source: unknown = part.type === 'image' ? part.image : part.data;
  return source instanceof URL ? source.href : '';
}

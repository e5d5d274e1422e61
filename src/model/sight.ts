import { type Message, type UserMessage, type UserPart, userText } from './message.ts';

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
  /** What became of messages: one object each, by which the next request knows it again. */
  #hiding = new WeakMap<UserMessage, UserMessage>();
  /** What the user is to be told. */
  readonly notices: string[] = [];

  /** The messages with a text in the place of what is not seen. */
  shown(messages: readonly Message[]): readonly Message[] {
    if (!this.#blind && this.#unseen.size === 0) return messages;
    return messages.map((message) =>
      message.role === 'user' && this.#hides(message) ? this.#without(message) : message,
    );
  }

  /** Takes in that images were refused. False when that was known: then it helps nothing to ask again. */
  learn({ url, reason }: UnseenImages): boolean {
    if (url === null ? this.#blind : this.#unseen.has(url)) return false;
    if (url === null) this.#blind = true;
    else this.#unseen.add(url);
    this.#hiding = new WeakMap();
    this.notices.push(reason);
    return true;
  }

  #hides({ content }: UserMessage): boolean {
    return content.some((part) => this.#isUnseen(part));
  }

  #without(message: UserMessage): UserMessage {
    const known = this.#hiding.get(message) ?? this.#written(message);
    this.#hiding.set(message, known);
    return known;
  }

  #written(message: UserMessage): UserMessage {
    const content = message.content.map((part) =>
      this.#isUnseen(part) ? { type: 'text' as const, text: INSTEAD } : part,
    );
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    // Who takes no images may take no parts either.
    return texts.length === content.length
      ? { ...message, ...userText(texts.join('\n\n')) }
      : { ...message, content };
  }

  #isUnseen(part: UserPart): boolean {
    const url = imageOf(part);
    return url !== null && (this.#blind || this.#unseen.has(url));
  }
}

/** Whether a request shows an image. */
export function showsImages(messages: readonly Message[]): boolean {
  return messages.some(
    ({ role, content }) => role === 'user' && content.some((part) => imageOf(part) !== null),
  );
}

/** The address of an image; "" for one without. Null for what is none. */
function imageOf(part: UserPart): string | null {
  if (part.type === 'text') return null;
  return part.data.type === 'url' ? part.data.url.href : '';
}

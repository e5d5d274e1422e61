import type { EventLog, StoredEvent } from '../events/log.ts';
import { Audience } from './audience.ts';
import type { StatusUpdate } from './status.ts';
import { Subscription } from './subscription.ts';

/** Handed to in a turn of the event loop: a few milliseconds. */
const AT_ONCE = 250;

/** Who watches which conversation. */
export class Subscriptions {
  readonly #read: EventLog['read'];
  readonly #atOnce: number;
  readonly #byConversation = new Map<number, Audience>();

  /**
   * @param read for what a subscriber has not been handed
   * @param atOnce how many who watch the same are handed what comes in one turn of the event loop
   */
  constructor(read: EventLog['read'], atOnce = AT_ONCE) {
    this.#read = read;
    this.#atOnce = atOnce;
  }

  /** Everything from event `from` on, first what is stored, then what comes. */
  subscribe(conversation: number, from: number): Subscription {
    const audience = this.#byConversation.get(conversation) ?? new Audience(this.#atOnce);
    this.#byConversation.set(conversation, audience);
    const { subscriptions } = audience;
    const subscription = new Subscription(this.#read, conversation, from, () => {
      subscriptions.delete(subscription);
      if (subscriptions.size === 0) this.#byConversation.delete(conversation);
    });
    subscriptions.add(subscription);
    return subscription;
  }

  /** Events that are on disk now, in the order of the log. */
  publish(conversation: number, events: readonly StoredEvent[]): void {
    this.#byConversation.get(conversation)?.hand({ statuses: [], events });
  }

  notify(conversation: number, status: StatusUpdate): void {
    this.#byConversation.get(conversation)?.hand({ statuses: [status], events: [] });
  }

  /** Ends all subscriptions of a conversation that was deleted. */
  end(conversation: number): void {
    for (const subscription of this.#byConversation.get(conversation)?.subscriptions ?? [])
      subscription.close();
  }

  /** Ends all of them: the service stops. */
  close(): void {
    for (const conversation of this.#byConversation.keys()) this.end(conversation);
  }

  /** How many there are in all. */
  get size(): number {
    let size = 0;
    for (const { subscriptions } of this.#byConversation.values()) size += subscriptions.size;
    return size;
  }

  watchers(conversation: number): number {
    return this.#byConversation.get(conversation)?.subscriptions.size ?? 0;
  }
}

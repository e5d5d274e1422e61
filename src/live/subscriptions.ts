import type { EventLog, StoredEvent } from '../events/log.ts';

/** What who watches is told besides the log: V0's `status_update`. Not stored, and lost to who is away. */
export interface StatusUpdate {
  status_update: true;
  type: 'info' | 'error';
  id?: string;
  message: string;
  /** Ours, of a call of the model that is tried again: why. */
  reason?: string;
  conversation_title?: string;
}

/** Told when a conversation begins to wait for its turn, and to who comes while it does. V0 has no such status. */
export const WAITS_FOR_ITS_TURN: StatusUpdate = {
  status_update: true,
  type: 'info',
  id: 'STATUS$QUEUED',
  message: 'Waiting for its turn: as many conversations are at work as may be at once',
};

export type Item = { kind: 'event'; event: StoredEvent } | { kind: 'status'; status: StatusUpdate };

/** Events handed on without reading the log wait here; a subscriber that has more waiting reads the log instead. */
const MAX_WAITING_BYTES = 256 * 1024;
const MAX_WAITING_STATUSES = 32;
/** What one read of the log brings at most, but for a single larger event. */
const READ_BYTES = 128 * 1024;
const READ_EVENTS = 200;

/**
 * Who watches which conversation. A committed event is handed to those who have seen all before it; whoever is
 * behind reads the log from the cursor it holds, so a slow subscriber costs a bound and nobody else anything.
 */
export class Subscriptions {
  readonly #read: EventLog['read'];
  readonly #byConversation = new Map<number, Set<Subscription>>();

  /** @param read for what a subscriber has not been handed */
  constructor(read: EventLog['read']) {
    this.#read = read;
  }

  /** Everything from event `from` on, first what is stored, then what comes. */
  subscribe(conversation: number, from: number): Subscription {
    const subscription = new Subscription(this.#read, conversation, from, () => {
      const all = this.#byConversation.get(conversation);
      all?.delete(subscription);
      if (all?.size === 0) this.#byConversation.delete(conversation);
    });
    const all = this.#byConversation.get(conversation) ?? new Set();
    all.add(subscription);
    this.#byConversation.set(conversation, all);
    return subscription;
  }

  /** Events that are on disk now, in the order of the log. */
  publish(conversation: number, events: readonly StoredEvent[]): void {
    for (const subscription of this.#byConversation.get(conversation) ?? []) subscription.offer(events);
  }

  notify(conversation: number, status: StatusUpdate): void {
    for (const subscription of this.#byConversation.get(conversation) ?? []) subscription.tell(status);
  }

  /** Ends all subscriptions of a conversation that was deleted. */
  end(conversation: number): void {
    for (const subscription of this.#byConversation.get(conversation) ?? []) subscription.close();
  }

  /** Ends all of them: the service stops. */
  close(): void {
    for (const conversation of this.#byConversation.keys()) this.end(conversation);
  }

  /** How many there are in all. */
  get size(): number {
    let size = 0;
    for (const all of this.#byConversation.values()) size += all.size;
    return size;
  }

  watchers(conversation: number): number {
    return this.#byConversation.get(conversation)?.size ?? 0;
  }
}

/** One watcher's place in a log. */
export class Subscription {
  readonly #read: EventLog['read'];
  readonly #conversation: number;
  readonly #closed: () => void;
  /** The next event it has not been given. */
  #next: number;
  /** Handed over and not yet taken: gapless from `#next` on, as long as `#behind` is false. */
  #waiting: StoredEvent[] = [];
  #waitingBytes = 0;
  #statuses: StatusUpdate[] = [];
  /** There may be events in the log that are not in `#waiting`. */
  #behind = true;
  #wake: (() => void) | undefined;
  #open = true;

  constructor(read: EventLog['read'], conversation: number, from: number, closed: () => void) {
    this.#read = read;
    this.#conversation = conversation;
    this.#next = from;
    this.#closed = closed;
  }

  /** The next items, as soon as there are any; undefined when the subscription has ended. One caller at a time. */
  async take(): Promise<Item[] | undefined> {
    while (this.#open) {
      const items: Item[] = this.#statuses.splice(0).map((status) => ({ kind: 'status', status }));
      const events = this.#behind ? await this.#readOn() : this.#takeWaiting();
      for (const event of events) items.push({ kind: 'event', event });
      if (items.length > 0) return items;
      if (!this.#open) break;
      if (this.#behind || this.#waiting.length > 0 || this.#statuses.length > 0) continue;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return undefined;
  }

  offer(events: readonly StoredEvent[]): void {
    const first = events[0];
    if (!first) return;
    const expected = (this.#waiting.at(-1)?.id ?? this.#next - 1) + 1;
    if (this.#behind || first.id !== expected) {
      this.#behind = true;
    } else {
      for (const event of events) {
        this.#waiting.push(event);
        this.#waitingBytes += event.json.length;
      }
      if (this.#waitingBytes > MAX_WAITING_BYTES) this.#fallBehind();
    }
    this.#wakeUp();
  }

  tell(status: StatusUpdate): void {
    this.#statuses.push(status);
    if (this.#statuses.length > MAX_WAITING_STATUSES) this.#statuses.shift();
    this.#wakeUp();
  }

  /** Idempotent. Whoever waits in {@link take} is told. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#waiting = [];
    this.#closed();
    this.#wakeUp();
  }

  #takeWaiting(): StoredEvent[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#next = (taken.at(-1)?.id ?? this.#next - 1) + 1;
    return taken;
  }

  async #readOn(): Promise<StoredEvent[]> {
    // Caught up once a read brings nothing; what is committed during the read is handed over or sets it again.
    this.#behind = false;
    const read = await this.#read(this.#conversation, {
      from: this.#next,
      limit: READ_EVENTS,
      maxBytes: READ_BYTES,
    });
    const last = read.at(-1);
    if (last) {
      this.#next = last.id + 1;
      this.#fallBehind();
    }
    return read;
  }

  #fallBehind(): void {
    this.#behind = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

import type { EventLog, StoredEvent } from '../events/log.ts';
import type { StatusUpdate } from './status.ts';

/** What is written at once. The same object for all who are handed it as it happens. */
export interface Batch {
  readonly statuses: readonly StatusUpdate[];
  /** In the order of the log, without a gap. */
  readonly events: readonly StoredEvent[];
}

/** A connection. Whoever has it calls {@link Subscription.resume} when there is room again. */
export interface Sink {
  /** Takes all of it, whatever its size, and does not wait. */
  write(batch: Batch): void;
  /** Whether what was written went out so far that more may be. */
  hasRoom(): boolean;
}

const MAX_WAITING_STATUSES = 32;
/** What one read of the log brings at most, but for a single larger event. */
const READ_BYTES = 128 * 1024;
const READ_EVENTS = 200;

/**
 * One watcher's place in a log. While it has been given all there is and its connection has room, it is handed what
 * comes as it comes. Else it reads the log from its place on, a page at a time, and holds no events meanwhile: a slow
 * client costs a bound and nobody else anything.
 */
export class Subscription {
  readonly #read: EventLog['read'];
  readonly #conversation: number;
  readonly #closed: () => void;
  /** The next event it has not been given. */
  #next: number;
  /** The log may have events from `#next` on. */
  #isBehind = true;
  /** Waiting for room. */
  #statuses: StatusUpdate[] = [];
  #isOpen = true;
  /** What comes goes straight there, and {@link follow} sleeps. */
  #ready: Sink | undefined;
  #asleep: PromiseWithResolvers<void> | undefined;

  constructor(read: EventLog['read'], conversation: number, from: number, closed: () => void) {
    this.#read = read;
    this.#conversation = conversation;
    this.#next = from;
    this.#closed = closed;
  }

  /**
   * Writes everything to a connection, once and in order, until the subscription is closed. Called once.
   *
   * @param stalled milliseconds the connection may be without room
   * @returns false as soon as it was without room for longer
   */
  async follow(sink: Sink, stalled: number): Promise<boolean> {
    while (this.#isOpen) {
      if (!sink.hasRoom()) {
        if (!(await this.#roomWithin(stalled, sink))) return false;
      } else if (this.#statuses.length > 0) {
        sink.write({ statuses: this.#statuses.splice(0), events: [] });
      } else if (this.#isBehind) {
        const events = await this.#readOn();
        if (this.#isOpen && events.length > 0) sink.write({ statuses: [], events });
      } else {
        this.#ready = sink;
        await this.#sleep();
      }
    }
    return true;
  }

  /** Something is on disk or is told now. Costs what the connection's `write` does, or nearly nothing. */
  offer(batch: Batch): void {
    const first = batch.events[0];
    if (!this.#ready || (first && first.id > this.#next)) return this.#leaveForLater(batch);
    const unseen = this.#unseenOf(batch);
    if (unseen.events.length + unseen.statuses.length === 0) return;
    this.#next = (unseen.events.at(-1)?.id ?? this.#next - 1) + 1;
    try {
      this.#ready.write(unseen);
      if (!this.#ready?.hasRoom()) this.#wake();
    } catch (error) {
      // Of this connection alone: follow() throws it, and the others are handed the batch.
      this.#ready = undefined;
      this.#asleep?.reject(error);
    }
  }

  /** The connection has room again. */
  resume(): void {
    if (!this.#ready) this.#wake();
  }

  /** Idempotent; {@link follow} returns. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#closed();
    this.#wake();
  }

  #leaveForLater({ statuses, events }: Batch): void {
    if (events.length > 0) this.#isBehind = true;
    this.#statuses = [...this.#statuses, ...statuses].slice(-MAX_WAITING_STATUSES);
    if (this.#ready) this.#wake();
  }

  /** What was read from the log before it was offered is not given again. */
  #unseenOf(batch: Batch): Batch {
    if ((batch.events[0]?.id ?? this.#next) === this.#next) return batch;
    return { ...batch, events: batch.events.filter(({ id }) => id >= this.#next) };
  }

  async #readOn(): Promise<StoredEvent[]> {
    // Caught up once a read brings nothing; what is committed during the read sets it again.
    this.#isBehind = false;
    const read = await this.#read(this.#conversation, {
      from: this.#next,
      limit: READ_EVENTS,
      maxBytes: READ_BYTES,
    });
    const last = read.at(-1);
    if (last) {
      this.#next = last.id + 1;
      this.#isBehind = true;
    }
    return read;
  }

  async #roomWithin(ms: number, sink: Sink): Promise<boolean> {
    const time = { isUp: false };
    const late = setTimeout(() => {
      time.isUp = true;
      this.resume();
    }, ms);
    while (this.#isOpen && !time.isUp && !sink.hasRoom()) await this.#sleep();
    clearTimeout(late);
    return !this.#isOpen || sink.hasRoom();
  }

  async #sleep(): Promise<void> {
    this.#asleep = Promise.withResolvers();
    await this.#asleep.promise;
  }

  #wake(): void {
    this.#ready = undefined;
    this.#asleep?.resolve();
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredEvent } from '../events/log.ts';
import type { StatusUpdate } from './status.ts';
import type { Batch, Subscription } from './subscription.ts';

/** Events wait here in at most so many bytes, but for the newest; who misses one reads the log from there on. */
const MAX_WAITING_BYTES = 256 * 1024;
const MAX_WAITING_STATUSES = 32;

/**
 * All who watch one conversation. What comes is handed to some of them in a turn of the event loop, in which the kernel
 * takes some 10 µs for each: others are not to wait until thousands have it. What comes until all have it is handed to
 * them together, after it.
 */
export class Audience {
  readonly subscriptions = new Set<Subscription>();
  readonly #atOnce: number;
  #statuses: StatusUpdate[] = [];
  #events: StoredEvent[] = [];
  #isHanding = false;

  /** @param atOnce how many are handed to in a turn */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Hands all of it to all of them, soon. */
  hand({ statuses, events }: Batch): void {
    this.#statuses = [...this.#statuses, ...statuses].slice(-MAX_WAITING_STATUSES);
    this.#events = newest([...this.#events, ...events], MAX_WAITING_BYTES);
    if (!this.#isHanding) void this.#handOn();
  }

  async #handOn(): Promise<void> {
    this.#isHanding = true;
    // What one commit brings comes together.
    await Promise.resolve();
    while (this.#statuses.length + this.#events.length > 0) {
      const batch: Batch = { statuses: this.#statuses, events: this.#events };
      this.#statuses = [];
      this.#events = [];
      let handed = 0;
      for (const subscription of this.subscriptions) {
        if (handed > 0 && handed % this.#atOnce === 0) await nextTurn();
        subscription.offer(batch);
        handed += 1;
      }
    }
    this.#isHanding = false;
  }
}

/** The last of them that are not larger together, but at least one. */
function newest(events: StoredEvent[], maxBytes: number): StoredEvent[] {
  let bytes = 0;
  const from = events.findLastIndex(({ json }) => (bytes += json.length) > maxBytes) + 1;
  return from === 0 ? events : events.slice(Math.min(from, events.length - 1));
}

import type { ConversationStores } from '../conversations/ports.ts';
import type { Transact } from '../transact.ts';
import { patient } from './patient.ts';
import type { RunQueue } from './queue.ts';

export interface SweepOptions {
  read: ConversationStores;
  transact: Transact<ConversationStores>;
  queue: RunQueue;
  /** Whether this process drives the conversation now. */
  drives: (key: number) => boolean;
}

/**
 * Finds conversations that have to be driven and are not: those of a process that died, and those whose run could not
 * write its end (a full disk). Offers all that wait; a hint too many finds nothing to do.
 */
export class Sweep {
  readonly #options: SweepOptions;
  /** Driven by the row and by nobody here when last looked, by generation: twice the same is an orphan. */
  #suspects = new Map<number, number>();

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /**
   * At the start of the only process: whatever is driven by the row and by nobody here is an orphan. Waits while nothing
   * can be stored, as after a crash on a full disk. @throws the signal's reason
   */
  async recover(signal: AbortSignal): Promise<void> {
    const { read, transact, drives } = this.#options;
    const patiently = patient(transact, signal);
    for (const { key, generation } of await read.conversations.driven()) {
      if (!drives(key)) await patiently(({ conversations }) => conversations.requeue(key, generation));
    }
    await this.#offerWaiting();
  }

  /** While it serves: a conversation may be between claim and run, so only the second look counts. */
  async sweep(): Promise<void> {
    const { read, transact, drives } = this.#options;
    const suspects = new Map<number, number>();
    for (const { key, generation } of await read.conversations.driven()) {
      if (drives(key)) continue;
      if (this.#suspects.get(key) === generation) {
        await transact(({ conversations }) => conversations.requeue(key, generation));
      } else {
        suspects.set(key, generation);
      }
    }
    this.#suspects = suspects;
    await this.#offerWaiting();
  }

  async #offerWaiting(): Promise<void> {
    for (const hint of await this.#options.read.conversations.waiting()) this.#options.queue.offer(hint);
  }
}

import type { AgentName } from '../contract/settings.ts';
import { TimeLimit } from '../time-limit.ts';
import { version } from './version.ts';

/** What is sent of a run that has ended. docs/analytics.md shows the same, and a test holds the two together. */
export interface RunFacts {
  agent: AgentName;
  /** How it ended: the agent waits for its user, finished, failed, or was stopped. */
  outcome: 'waiting' | 'finished' | 'failed' | 'aborted';
}

export interface AnalyticsOptions {
  /** Where the operator wants it; null for nowhere. */
  url: string | null;
  fetch: typeof globalThis.fetch;
  /** Asked each time, as consent may be withdrawn. */
  consents: (userId: string) => Promise<boolean>;
  /** Told when something could not be sent: nobody waits for it, and it is not tried again. */
  failed: (error: unknown) => void;
}

const DEADLINE_MS = 5_000;
/** A destination that hangs keeps no more than this. */
const MOST_AT_ONCE = 20;

/** Tells the operator's destination how runs end, of users who consent: no names, no content, nothing else. */
export class Analytics {
  readonly #options: AnalyticsOptions;
  readonly #closing = new AbortController();
  readonly #sending = new Set<Promise<void>>();

  constructor(options: AnalyticsOptions) {
    this.#options = options;
  }

  /** Returns at once. */
  runEnded(userId: string, facts: RunFacts): void {
    const { url } = this.#options;
    if (url === null || this.#sending.size >= MOST_AT_ONCE || this.#closing.signal.aborted) return;
    const sending: Promise<void> = this.#send(url, userId, facts)
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.#options.failed(error);
      })
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  async #send(url: string, userId: string, { agent, outcome }: RunFacts): Promise<void> {
    const { consents, fetch } = this.#options;
    if (!(await consents(userId))) return;
    using limit = new TimeLimit(this.#closing.signal, DEADLINE_MS);
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'parley' },
      body: JSON.stringify({ event: 'run_ended', version, agent, outcome }),
      redirect: 'manual',
      signal: limit.signal,
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the destination answered with ${response.status}`);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#sending);
  }
}

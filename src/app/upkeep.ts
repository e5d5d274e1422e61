import { join } from 'node:path';
import type { OnlyUser } from '../auth/only-user.ts';
import type { Config } from '../config.ts';
import type { ConversationService } from '../conversations/service.ts';
import { every } from '../every.ts';
import type { Logger } from '../observe/log.ts';
import { Retention } from '../runs/retention/retention.ts';
import type { Sandboxes } from '../runs/sandboxes.ts';
import type { Sweep } from '../runs/sweep.ts';
import { LeftBehind } from '../sandbox/left-behind.ts';
import { runDirectoryOf } from '../sandbox/run-directory.ts';
import type { Storage } from '../storage/storage.ts';

/** Milliseconds between two looks for what the command line, beside us, has changed about users. */
const USERS_MS = 1_000;
/** Milliseconds between two looks for conversations that have to be driven and are not. */
const SWEEP_MS = 15_000;
/** Milliseconds between two looks for conversations that nobody has touched for long, and how many end at once. */
const IDLE_MS = 30_000;
const IDLE_AT_ONCE = 20;
/** Milliseconds between two looks for what killed services have left. */
const LEFT_BEHIND_MS = 60_000;
/** Milliseconds between two looks for conversations that are old enough to be removed, and of a day. */
const RETENTION_MS = 15 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

interface Parts {
  config: Config;
  log: Logger;
  storage: Storage;
  onlyUser: OnlyUser;
  conversations: ConversationService;
  sandboxes: Sandboxes;
  sweep: Sweep;
}

/** What has to be done now and then, whoever asks for it or nobody. */
export class Upkeep {
  readonly #parts: Parts;
  readonly #stop = new AbortController();
  readonly #leftBehind: LeftBehind;
  readonly #retention: Retention;

  constructor(parts: Parts) {
    const { config, storage, sandboxes, log } = parts;
    this.#parts = parts;
    this.#leftBehind = new LeftBehind(runDirectoryOf(config.dataDir));
    this.#retention = new Retention({
      read: storage.read,
      transact: storage.transact,
      sandboxes,
      limits: config.sandbox.limits,
      directory: join(config.dataDir, 'bundles'),
      log,
    });
  }

  /** Resolves when what an earlier service has left undone is on its way. */
  async begin(): Promise<void> {
    const { log, onlyUser, conversations, sweep } = this.#parts;
    const failed = (error: unknown): void => log.error({ err: error }, 'a periodic task failed');
    const periodic = { signal: this.#stop.signal, failed };
    // Not awaited: on a full disk it waits.
    void sweep.recover(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) failed(error);
    });
    every(USERS_MS, () => onlyUser.look(), periodic);
    every(USERS_MS, () => conversations.stopDisabled(), periodic);
    every(USERS_MS, () => conversations.finishRemovals(), periodic);
    every(SWEEP_MS, () => sweep.sweep(), periodic);
    every(LEFT_BEHIND_MS, () => this.#leftBehind.look(), periodic);
    every(RETENTION_MS, () => this.#removeOld(), periodic);
    every(IDLE_MS, () => this.#stopIdle(), periodic);
    await conversations.finishRemovals().catch(failed);
    void this.#removeOld().catch(failed);
    void this.#leftBehind.look().catch(failed);
  }

  end(): void {
    this.#stop.abort();
  }

  async #removeOld(): Promise<void> {
    const { keepDays } = this.#parts.config;
    if (keepDays === null) return;
    await this.#retention.remove(new Date(Date.now() - keepDays * DAY_MS), this.#stop.signal);
  }

  async #stopIdle(): Promise<void> {
    const { config, conversations } = this.#parts;
    await conversations.stopIdle(new Date(Date.now() - config.idleStopSeconds * 1000), IDLE_AT_ONCE);
  }
}

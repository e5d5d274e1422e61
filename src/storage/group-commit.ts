import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { BUSY, FULL, isTrouble, resultCode } from './result-code.ts';

interface Waiting {
  /** Runs the write inside the open transaction; gives back what its caller is told after the commit. */
  run: () => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** What the owner of the connection is told about the writes of a batch. */
export interface BatchObserver {
  /** From now until the batch ends no other process commits anything. */
  begun?(): void;
  /** A write begins: what came since is its own. */
  mark(): number;
  /** A write failed: what it brought since `mark` is not to be published. */
  drop(mark: number): void;
  /** The batch is on disk. */
  publish(): void;
  /** For the statistics: how long it took, and whether it is on disk. */
  measured?(batch: { writes: number; seconds: number; ok: boolean }): void;
}

/** Milliseconds writes wait for another process's lock before they fail, and between two tries for it. */
const PATIENCE_MS = 5_000;
const RETRY_MS = 10;

/**
 * How many turns of the event loop writes are gathered for while each brings more: who was just answered sends the next
 * one a turn later, and would else wait for the sync of those that came in between.
 */
const MOST_TURNS = 4;

/**
 * Milliseconds after which they are gathered no longer, in the middle of a turn even; or as many as the last commit took.
 * Of two hundred agents whose models answer at once, the first ask again while the answers of the last are still read,
 * so that they do not all come together the next time, too.
 */
const GATHER_MS = 5;

/**
 * The writes of a turn of the event loop, or of a few in a row, in one transaction: one disk sync for all of them, a
 * savepoint for each, so that a write that fails takes nothing along. Callers are answered after the commit, one after
 * the other: each goes on as far as it comes before the next. When the commit itself fails, all of the batch fail, and
 * nothing of it is stored.
 *
 * Another process's lock is waited for here: SQLite's own wait would hold up the event loop, and every request with it.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #observer: BatchObserver;
  readonly #patienceMs: number;
  readonly #gatherMs: number;
  readonly #statements: Record<'begin' | 'savepoint' | 'rollbackOne' | 'release' | 'commit', StatementSync>;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  /** While writes are gathered: when that is to end, and what ends it. */
  #gathering: { until: number; end: () => void } | undefined;
  /** Milliseconds that the last commit took. */
  #took = 0;

  /** @param database has no transaction, and from now on no other one than those of this */
  constructor(
    database: DatabaseSync,
    observer: BatchObserver,
    { patienceMs = PATIENCE_MS, gatherMs = GATHER_MS } = {},
  ) {
    this.#database = database;
    this.#observer = observer;
    this.#patienceMs = patienceMs;
    this.#gatherMs = gatherMs;
    database.exec('pragma busy_timeout = 0');
    this.#statements = {
      begin: database.prepare('begin immediate'),
      savepoint: database.prepare('savepoint one'),
      rollbackOne: database.prepare('rollback to one'),
      release: database.prepare('release one'),
      commit: database.prepare('commit'),
    };
  }

  write<T>(run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // The queue holds writes of any result; each resolve gets the value of its own run.
      this.#waiting.push({ run, resolve: resolve as (value: unknown) => void, reject });
      this.#flushing ??= this.#flushSoon();
      if (this.#gathering && performance.now() > this.#gathering.until) this.#gathering.end();
    });
  }

  /** Resolves when all that was asked for is committed. */
  async drained(): Promise<void> {
    while (this.#flushing) await this.#flushing;
  }

  async #flushSoon(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gathered();
      const refusal = await this.#begin();
      const batch = this.#waiting;
      this.#waiting = [];
      if (refusal) for (const { reject } of batch) reject(refusal);
      else await this.#commit(batch);
    }
    this.#flushing = undefined;
  }

  /** Resolves when a turn of the event loop has brought no further write, or enough turns have, or it took long enough. */
  async #gathered(): Promise<void> {
    const until = performance.now() + Math.max(this.#gatherMs, this.#took);
    let before = 0;
    for (let turns = 0; turns < MOST_TURNS && this.#waiting.length > before; turns += 1) {
      if (turns > 0 && performance.now() > until) break;
      before = this.#waiting.length;
      await new Promise<void>((end) => {
        this.#gathering = { until, end };
        setImmediate(end);
      });
    }
    this.#gathering = undefined;
  }

  /** Begins the transaction as soon as no other process has one. What cannot be had by then is given back. */
  async #begin(): Promise<ServiceError | undefined> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      try {
        this.#statements.begin.run();
        this.#observer.begun?.();
        return undefined;
      } catch (reason) {
        this.#rollback();
        if (resultCode(reason) !== BUSY || performance.now() > deadline) return unavailable(reason);
      }
      await sleep(RETRY_MS);
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const { savepoint, rollbackOne, release, commit } = this.#statements;
    const began = performance.now();
    const measured = (ok: boolean): void => {
      this.#took = performance.now() - began;
      this.#observer.measured?.({ writes: batch.length, seconds: this.#took / 1000, ok });
    };
    const answers: (() => void)[] = [];
    try {
      for (const waiting of batch) {
        const mark = this.#observer.mark();
        // run() would make an object of what changed, for each write twice.
        savepoint.get();
        try {
          const value = await waiting.run();
          answers.push(() => waiting.resolve(value));
        } catch (reason) {
          this.#observer.drop(mark);
          // A full or broken disk fails the whole batch: SQLite may have ended the transaction, and the commit would fail.
          if (!this.#database.isTransaction || isTrouble(reason)) throw reason;
          rollbackOne.run();
          answers.push(() => waiting.reject(reason));
        }
        release.get();
      }
      commit.run();
    } catch (reason) {
      this.#observer.drop(0);
      this.#rollback();
      measured(false);
      const failure = unavailable(reason);
      for (const { reject } of batch) reject(failure);
      return;
    }
    measured(true);
    this.#observer.publish();
    for (const answer of answers) {
      answer();
      // Comes when all promises are dealt with that the answer has settled, and those that these settled.
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
  }

  #rollback(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('rollback');
    } catch {
      // The callers are told what went wrong first; a transaction that stays open fails the next batch at its `begin`, which tries again to end it.
    }
  }
}

function unavailable(cause: unknown): ServiceError {
  const number = resultCode(cause);
  const why =
    number === FULL
      ? 'the disk is full: free some space'
      : number === BUSY
        ? 'another process holds the database: end it'
        : 'the database refused the write; its log line says why';
  return new ServiceError('storage_unavailable', `Nothing was stored: ${why}, then try again.`, { cause });
}

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
 * The writes of a turn of the event loop, or of a few in a row, in one transaction: one disk sync for all of them, a
 * savepoint for each, so that a write that fails takes nothing along. Callers are answered after the commit. When the
 * commit itself fails, all of the batch fail, and nothing of it is stored.
 *
 * Another process's lock is waited for here: SQLite's own wait would hold up the event loop, and every request with it.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #observer: BatchObserver;
  readonly #patienceMs: number;
  readonly #statements: Record<'begin' | 'savepoint' | 'rollbackOne' | 'release' | 'commit', StatementSync>;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;

  /** @param database has no transaction, and from now on no other one than those of this */
  constructor(database: DatabaseSync, observer: BatchObserver, patienceMs = PATIENCE_MS) {
    this.#database = database;
    this.#observer = observer;
    this.#patienceMs = patienceMs;
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

  /** Resolves when a turn of the event loop has brought no further write, or enough turns have. */
  async #gathered(): Promise<void> {
    let before = 0;
    for (let turns = 0; turns < MOST_TURNS && this.#waiting.length > before; turns += 1) {
      before = this.#waiting.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
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
        if (resultCode(reason) !== BUSY || performance.now() > deadline) return unavailable(reason);
      }
      await sleep(RETRY_MS);
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const { savepoint, rollbackOne, release, commit } = this.#statements;
    const began = performance.now();
    const measured = (ok: boolean): void =>
      this.#observer.measured?.({ writes: batch.length, seconds: (performance.now() - began) / 1000, ok });
    const done: { waiting: Waiting; value: unknown }[] = [];
    const refused: { waiting: Waiting; reason: unknown }[] = [];
    try {
      for (const waiting of batch) {
        const mark = this.#observer.mark();
        savepoint.run();
        try {
          done.push({ waiting, value: await waiting.run() });
        } catch (reason) {
          this.#observer.drop(mark);
          // A full or broken disk fails the whole batch: SQLite may have ended the transaction, and the commit would fail.
          if (!this.#database.isTransaction || isTrouble(reason)) throw reason;
          rollbackOne.run();
          refused.push({ waiting, reason });
        }
        release.run();
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
    for (const { waiting, value } of done) waiting.resolve(value);
    for (const { waiting, reason } of refused) waiting.reject(reason);
    this.#observer.publish();
  }

  #rollback(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('rollback');
    } catch {
      // The callers are told what went wrong first; a transaction that stays open fails the next batch at its `begin`.
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

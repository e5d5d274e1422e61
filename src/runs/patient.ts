import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import type { Transact } from '../transact.ts';

/** Milliseconds until a write that could not be stored is tried again. */
const AGAIN_MS = 1_000;

/**
 * As `transact`, but waits while nothing can be stored: the disk is full, another process holds the database. Whoever
 * sends a request is told at once; a run has time, and what it did must not be forgotten. @throws the signal's reason
 */
export function patient<Stores>(
  transact: Transact<Stores>,
  signal: AbortSignal,
  againMs = AGAIN_MS,
): Transact<Stores> {
  return async (work) => {
    for (;;) {
      try {
        return await transact(work);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'storage_unavailable') throw error;
      }
      signal.throwIfAborted();
      // Who is interrupted meanwhile tries once more: what is stored now need not be done again.
      await sleep(againMs, undefined, { signal }).catch(() => undefined);
    }
  };
}

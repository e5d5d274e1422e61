import { type Logger, destination, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

/** Characters, and milliseconds, until lines are written: under load, a write for each would cost a tenth of all. */
const GATHERED = 8_192;
const FLUSH_MS = 100;

/**
 * One JSON object per line on standard output. What is logged holds no bodies, no keys and no values of users;
 * a `Secret` that slips in prints as hidden.
 */
export function createLog(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Not synchronous: who reads the log slowly must not hold up the service.
    destination({ fd: 1, sync: false, minLength: GATHERED, periodicFlush: FLUSH_MS }),
  );
}

/** Resolves when all lines are written. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()));
}

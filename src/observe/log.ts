import { type DestinationStream, type Logger, destination, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

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
    gathered(destination({ fd: 1, sync: false })),
  );
}

/** Resolves when all lines are written. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()));
}

interface Flushable extends DestinationStream {
  flush(done?: (error?: Error | null) => void): void;
  flushSync(): void;
}

/** Writes the lines of one turn of the event loop at once: under load a write of its own for each costs a tenth of all. */
function gathered(target: Flushable): Flushable {
  let lines = '';
  const pass = (): void => {
    if (lines !== '') target.write(lines);
    lines = '';
  };
  process.on('exit', () => {
    pass();
    target.flushSync();
  });
  return {
    write(line) {
      if (lines === '') setImmediate(pass);
      lines += line;
    },
    flush(done) {
      pass();
      target.flush(done);
    },
    flushSync() {
      pass();
      target.flushSync();
    },
  };
}

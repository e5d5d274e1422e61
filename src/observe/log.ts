import { type DestinationStream, type Logger, destination, levels, pino, stdTimeFunctions } from 'pino';

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

const ERROR = levels.values['error'] ?? 0;

/** How long a line may wait for others, in milliseconds: nobody who reads them notices. */
const GATHER_MS = 5;

/**
 * Writes the lines of a few milliseconds at once: under load a write of its own for each costs a tenth of all. What
 * went wrong is written at once, with what came before it: the process may be about to end without a word.
 */
function gathered(target: Flushable): Flushable & { lastLevel: number } {
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
    // pino then says the level of each line before it writes it.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line) {
      const waits = lines !== '';
      lines += line;
      if (this.lastLevel >= ERROR) pass();
      else if (!waits) setTimeout(pass, GATHER_MS);
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

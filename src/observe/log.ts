import { type Logger, levels, pino, stdTimeFunctions } from 'pino';
import { LogWriter } from './log-writer.ts';

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
    standardOutput(),
  );
}

/** Resolves when all lines are written. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()));
}

const ERROR = levels.values['error'];

/** An error is written at once: the process may be about to end without a word. For a fatal one pino calls `flushSync`. */
function standardOutput() {
  const writer = new LogWriter(1);
  process.on('exit', () => writer.flushNow());
  return {
    // pino then says the level of each line before it writes it.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      writer.add(line, this.lastLevel === ERROR);
    },
    async flush(done: () => void): Promise<void> {
      await writer.flush();
      done();
    },
    flushSync: (): void => writer.flushNow(),
  };
}

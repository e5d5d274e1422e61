import { type Config, SHORT_KEY, isShort } from '../config.ts';
import { type Logger, createLog, flushLog } from '../observe/log.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Terminal } from './terminal.ts';

/** The service, composed and ready to listen. */
export interface App {
  /** Resolves to the URL it can be reached by. */
  listen(): Promise<string>;
  /** Stops accepting, ends what runs, and lets go of everything. */
  close(): Promise<void>;
  /** A key that this start made, and the file it was written to. */
  newKey: { key: Secret; file: string } | null;
}

export type Build = (config: Config, log: Logger) => Promise<App>;

/** Milliseconds a stop may take. What is not ended by then is recovered by the next start. */
const STOP_MS = 5_000;
/** And what the last lines of the log may: nobody may be reading it. */
const LAST_LINES_MS = 1_000;

/** Serves until SIGTERM, SIGINT or SIGHUP; gives the exit code. A second signal ends the process at once. */
export async function serve(config: Config, build: Build, terminal: Terminal): Promise<number> {
  const log = createLog(config.logLevel);
  const stopped = stopSignal(log);
  // Node ends the process with a stack on standard error; the log shall have it too.
  process.on('uncaughtExceptionMonitor', (error) =>
    log.fatal({ err: error }, 'a fault of ours; the process ends'),
  );
  if (isShort(config.sessionApiKey?.unwrap())) {
    log.warn(`SESSION_API_KEY has fewer than ${SHORT_KEY} characters: good enough on loopback only.`);
  }
  const app = await build(config, log);
  try {
    // Also when it then cannot listen: the next start finds the key in its file, and shows none.
    if (app.newKey) announce(app.newKey, terminal);
    const url = await app.listen();
    terminal.note(`Parley serves at ${url}`);
    const signal = await stopped;
    log.info({ signal }, 'stopping');
  } finally {
    await Promise.race([app.close(), deadline(STOP_MS)]);
    await Promise.race([flushLog(log), deadline(LAST_LINES_MS)]);
  }
  return 0;
}

/** On the terminal, never in the log. */
function announce({ key, file }: { key: Secret; file: string }, terminal: Terminal): void {
  terminal.note(`A key for you, the user "default", shown only now and kept in ${file}:`);
  terminal.note(`  ${key.unwrap()}`);
}

function stopSignal(log: Logger): Promise<string> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (signal: string): void => {
      if (stopping) {
        log.warn({ signal }, 'stopping at once');
        // oxlint-disable-next-line unicorn/no-process-exit -- who asks twice does not want to wait for anything
        process.exit(1);
      }
      stopping = true;
      resolve(signal);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    // Of a terminal that is closed. Node takes it from whoever had it ignored, as nohup does: it would end us at once.
    process.on('SIGHUP', stop);
  });
}

function deadline(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

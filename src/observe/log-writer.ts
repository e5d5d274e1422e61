import { fstatSync, write, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** How long a line may wait for others, in milliseconds: nobody who reads them notices. */
const GATHER_MS = 5;
/** Milliseconds until a destination that refused is tried again. */
const AGAIN_MS = 100;
/** A destination that took nothing for so many milliseconds is not waited for by a process that ends. */
const ASLEEP_MS = 1_000;
/** Characters that wait for a destination that takes none. */
const MOST_WAITING = 4 * 1024 * 1024;

/** Errors after which nobody will ever read what is written. */
const GONE = new Set(['EPIPE', 'EBADF', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

/**
 * Writes lines to a descriptor, several together: under load a write of its own for each costs a tenth of all. Nobody
 * waits for it. While it takes nothing, its disk full or its reader asleep, lines wait in a bound; those that come beyond
 * are counted, and a line says so in their place.
 */
export class LogWriter {
  readonly #fd: number;
  readonly #kernel: Send;
  #lines = '';
  #missing = 0;
  #timer: NodeJS.Timeout | undefined;
  /** What goes out now, and since when. */
  #going: { bytes: Buffer; since: number; isWithKernel: boolean } | undefined;
  #isGone = false;
  #flushed: PromiseWithResolvers<void> | undefined;

  constructor(fd: number) {
    this.#fd = fd;
    this.#kernel = sendTo(fd);
  }

  /** @param atOnce with all that came before it */
  add(line: string, atOnce: boolean): void {
    if (this.#isGone) return;
    if (this.#lines.length + line.length > MOST_WAITING) this.#missing += 1;
    else this.#lines += line;
    if (atOnce) this.#pass();
    else this.#timer ??= setTimeout(() => this.#pass(), GATHER_MS);
  }

  /** Resolves when all lines are written, or nobody will ever read them. */
  async flush(): Promise<void> {
    this.#pass();
    if (!this.#going) return;
    this.#flushed ??= Promise.withResolvers();
    await this.#flushed.promise;
  }

  /** Writes what waits before it returns, for a process that ends; gives up at the first refusal. */
  flushNow(): void {
    const going = this.#going;
    if (this.#isGone || (going && performance.now() - going.since > ASLEEP_MS)) return;
    const refused = going && !going.isWithKernel ? going.bytes : Buffer.alloc(0);
    let bytes = Buffer.concat([refused, Buffer.from(this.#take())]);
    try {
      while (bytes.length > 0) bytes = bytes.subarray(writeSync(this.#fd, bytes));
    } catch {
      // There is nobody left to tell.
    }
  }

  /** What waits goes out, unless something does: then it follows. */
  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#going && this.#lines !== '') this.#send(Buffer.from(this.#take()));
  }

  #take(): string {
    const lines = this.#lines + (this.#missing === 0 ? '' : missingLine(this.#missing));
    this.#lines = '';
    this.#missing = 0;
    return lines;
  }

  #send(bytes: Buffer, since = performance.now()): void {
    const going = { bytes, since, isWithKernel: true };
    this.#going = going;
    this.#kernel(bytes, (error, count) => {
      going.isWithKernel = false;
      if (error && GONE.has(error.code ?? '')) this.#giveUp();
      else if (error) setTimeout(() => this.#send(bytes, since), AGAIN_MS);
      else if (count < bytes.length) this.#send(bytes.subarray(count));
      else this.#sent();
    });
  }

  #sent(): void {
    this.#going = undefined;
    this.#pass();
    if (!this.#going) this.#settle();
  }

  #giveUp(): void {
    this.#isGone = true;
    this.#going = undefined;
    this.#lines = '';
    this.#settle();
  }

  #settle(): void {
    this.#flushed?.resolve();
    this.#flushed = undefined;
  }
}

type Send = (
  bytes: Buffer,
  done: (error: NodeJS.ErrnoException | null | undefined, count: number) => void,
) => void;

/**
 * Into a pipe or socket without a thread that waits: while its reader is asleep, that thread would keep the process from
 * ending.
 */
function sendTo(fd: number): Send {
  if (!isStream(fd)) return (bytes, done) => write(fd, bytes, done);
  const socket = new Socket({ fd, readable: false, writable: true });
  // Each write tells its own.
  socket.on('error', () => {});
  return (bytes, done) => void socket.write(bytes, (error) => done(error, bytes.length));
}

function isStream(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFIFO() || stats.isSocket();
  } catch {
    return false;
  }
}

function missingLine(count: number): string {
  const msg = `${count} lines of the log are missing here: they could not be written`;
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), msg })}\n`;
}

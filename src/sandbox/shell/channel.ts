import type { Readable, Writable } from 'node:stream';

// The supervisor writes short lines. Its descriptors are within reach of the commands, so nothing longer is believed.
const LONGEST_LINE = 256;

/**
 * The line protocol with one supervisor: `send` writes a line, `onLine` gets each answer split at spaces.
 * Commands can write to this stream too (same user): what comes is a hint about their own sandbox, never trusted further.
 */
export class Channel {
  readonly #input: Writable;
  #rest = '';

  constructor(
    streams: { stdin: Writable; stdout: Readable },
    onLine: (words: readonly string[]) => void,
    onBroken: (reason: string) => void,
  ) {
    this.#input = streams.stdin;
    streams.stdin.on('error', (error) => onBroken(`its shell takes no more commands (${error.message})`));
    streams.stdout.on('error', (error) => onBroken(`its shell cannot be heard (${error.message})`));
    streams.stdout.setEncoding('latin1');
    streams.stdout.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      if (this.#rest.length > LONGEST_LINE) {
        this.#rest = '';
        onBroken('its shell speaks nonsense');
      }
      for (const line of lines) onLine(line.slice(0, LONGEST_LINE).split(' '));
    });
  }

  send(line: string): void {
    if (this.#input.writable) this.#input.write(`${line}\n`);
  }
}

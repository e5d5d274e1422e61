import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program, ProgramSpec } from '../sandbox.ts';

/** Milliseconds a program has to end once its input has, before it is signalled. */
const GRACE_MS = 300;

/**
 * The command that becomes the program. Its variables are set by the shell: as arguments of env(1) everyone on the host
 * could read them.
 * @param hidden what the names of the user's secrets stand for outside the shell; null: for nothing
 */
export function commandOf(
  { command, args, env }: ProgramSpec,
  hidden: Readonly<Record<string, string | null>>,
): string {
  const given = Object.entries(env).map(([name, secret]) => [name, secret.unwrap()] as const);
  const lines = [...Object.entries(hidden), ...given].map(([name, value]) =>
    value === null ? `unset -v ${name}` : `export ${name}=${quoted(value)}`,
  );
  return [...lines, `exec -- ${[command, ...args].map(quoted).join(' ')}`].join('\n');
}

/** What the names of the user's secrets stand for in an environment that has none of them. */
export function withoutSecrets(
  base: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, unknown>>,
): Record<string, string | null> {
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, base[name] ?? null]));
}

/** A program that was begun; see {@link Program}. */
export class RunningProgram implements Program {
  readonly input: Writable;
  readonly ended: Program['ended'];
  readonly #stop: AbortController;

  /** @param stop what ends it when it does not end with its input */
  constructor(input: Writable, ended: Program['ended'], stop: AbortController) {
    this.input = input;
    this.ended = ended;
    this.#stop = stop;
  }

  async close(): Promise<void> {
    this.input.end();
    const patience = new AbortController();
    await Promise.race([
      this.ended,
      delay(GRACE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    this.#stop.abort();
    await this.ended;
  }
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

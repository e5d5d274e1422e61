import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from './terminal.ts';

/** The options and the remaining words of a command. @throws UsageError for an unknown option or a wrong number of words */
export function parse<const T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
  words: readonly string[] = [],
) {
  const { values, positionals } = parseOrExplain(args, options);
  if (positionals.length > words.length)
    throw new UsageError(`"${positionals[words.length]}" is one word too many.`);
  const missing = words[positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing.`);
  return { values, words: positionals };
}

function parseOrExplain<const T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const [what = ''] = error instanceof Error ? error.message.split('. ') : [];
    throw new UsageError(`${what}.`);
  }
}

/** The value of an option that must be given. @throws UsageError */
export function required(value: string | undefined, option: string): string {
  if (value === undefined || value === '') throw new UsageError(`${option} is missing.`);
  return value;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** When something ends that lasts `text` from now on: `90m`, `12h`, `30d`, `4w`. @throws UsageError */
export function endOf(text: string, now: Date): Date {
  return new Date(now.getTime() + spanOf(text, '--expires'));
}

/** When that was which lies `text` back. @throws UsageError */
export function startOf(text: string, now: Date): Date {
  return new Date(now.getTime() - spanOf(text, '--since'));
}

function spanOf(text: string, option: string): number {
  const [, count, unit = ''] = /^([1-9][0-9]{0,5})([mhdw])$/.exec(text) ?? [];
  if (count === undefined) throw new UsageError(`${option} takes a time like 12h, 30d or 4w, not "${text}".`);
  return Number(count) * (UNIT_MS[unit] ?? 0);
}

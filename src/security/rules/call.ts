import type { Rating } from '../analyzer.ts';
import type { Ground } from './paths.ts';
import type { Token } from './words.ts';

/** One program that is started, as the rules see it. */
export interface Call {
  /** The program's name without its directory. */
  name: string;
  args: readonly Token[];
  ground: Ground;
  /** What it reads comes from a pipe of another program, which does not write it out itself. */
  piped: boolean;
  /** The text that it reads, where it stands in the script. */
  input: string | null;
  /** More arguments come from elsewhere: `xargs`. */
  open: boolean;
  /** Rates a text as a script of the shell. */
  script(this: void, text: string, ground?: Ground): Rating;
  /** Rates a command that stands in the arguments. */
  command(this: void, args: readonly Token[], more?: { open?: boolean }): Rating;
}

/** The arguments that are no options, with what follows `--`. `valued`: options that take the next argument. */
export function operands(args: readonly Token[], valued: RegExp = /^$/): Token[] {
  const found: Token[] = [];
  for (let n = 0; n < args.length; n += 1) {
    const arg = args[n];
    if (!arg) break;
    if (arg.text === '--') return [...found, ...args.slice(n + 1)];
    if (valued.test(arg.text)) n += 1;
    else if (!arg.text.startsWith('-') || arg.text === '-') found.push(arg);
  }
  return found;
}

/** Whether an option is given: `-r` also within `-rf`, long ones also with their value. */
export function has(args: readonly Token[], short: string, ...long: readonly string[]): boolean {
  return args.some(
    ({ text }) =>
      (short !== '' && /^-[A-Za-z0-9]+$/.test(text) && short.split('').some((one) => text.includes(one))) ||
      long.some((name) => text === name || text.startsWith(`${name}=`)),
  );
}

/** What is given with an option: `-o X`, `-oX`, `--output X`, `--output=X`. */
export function valuesOf(args: readonly Token[], short: string, ...long: readonly string[]): Token[] {
  return args.flatMap((arg, n) => {
    const next = args[n + 1];
    if (arg.text === short || long.includes(arg.text)) return next ? [next] : [];
    if (short !== '' && arg.text.startsWith(short) && !arg.text.startsWith('--')) {
      return [{ ...arg, text: arg.text.slice(short.length) }];
    }
    const name = long.find((one) => arg.text.startsWith(`${one}=`));
    return name ? [{ ...arg, text: arg.text.slice(name.length + 1) }] : [];
  });
}

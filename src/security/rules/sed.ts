import { operands } from './call.ts';
import type { Token } from './words.ts';

/** What a program of sed does beside changing text. */
export interface SedEffects {
  /** It has other programs started: the command `e`, or the flag of `s`. */
  starts: boolean;
  /** Files that the commands `w` and `W`, and the flag of `s`, write. */
  writes: string[];
}

/** The programs among the arguments: what `-e` says, or else the first operand. */
export function sedPrograms(args: readonly Token[]): Token[] {
  const given = args.flatMap((arg, n) => {
    const value = /^(?:-[nErsuz]*e|--expression(?=$|=)=?)([^]*)$/.exec(arg.text)?.[1];
    if (value === undefined) return [];
    const next = args[n + 1];
    return value === '' ? (next ? [next] : []) : [{ ...arg, text: value }];
  });
  if (given.length > 0) return given;
  if (args.some(({ text }) => /^(-[nErsuz]*f|--file(=|$))/.test(text))) return [];
  return operands(args, /^(-l|--line-length)$/).slice(0, 1);
}

/** Reads a program once, from its beginning to its end: whatever is in it, this takes no longer than it is long. */
export function sedEffects(program: string): SedEffects {
  const effects: SedEffects = { starts: false, writes: [] };
  let at = 0;
  const past = (delimiter: string): void => {
    while (at < program.length && program[at] !== delimiter) at += program[at] === '\\' ? 2 : 1;
    at += 1;
  };
  const until = (end: RegExp): string => {
    const from = at;
    while (at < program.length && !end.test(program[at] ?? '')) at += 1;
    return program.slice(from, at);
  };
  while (at < program.length) {
    const command = program[at] ?? '';
    at += 1;
    switch (command) {
      case '/':
        past('/');
        break;
      case '\\':
      case 'y':
      case 's': {
        const delimiter = program[at] ?? '';
        at += 1;
        past(delimiter);
        if (command === '\\') break;
        past(delimiter);
        if (command === 'y') break;
        effects.starts ||= until(/[^gpiImMe\d]/).includes('e');
        if (program[at] === 'w') effects.writes.push(until(/\n/).slice(1).trim());
        break;
      }
      case 'e':
        effects.starts = true;
        break;
      case 'w':
      case 'W':
        effects.writes.push(until(/\n/).trim());
        break;
      case 'a':
      case 'i':
      case 'c':
      case 'r':
      case 'R':
      case '#':
        until(/\n/);
        break;
      case 'b':
      case 't':
      case 'T':
      case ':':
        until(/[;\n}]/);
        break;
      default:
    }
  }
  return effects;
}

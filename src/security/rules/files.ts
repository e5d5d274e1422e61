import type { Rating } from '../analyzer.ts';
import { type Call, has, operands, valuesOf } from './call.ts';
import { writesPath } from './paths.ts';
import { high, LOW, medium, worst } from './rating.ts';
import { sedEffects, sedPrograms } from './sed.ts';
import type { Token } from './words.ts';

/** The options that take a value, of programs that write to each of their operands. */
const VALUED = {
  touch: /^(-r|-d|-t|--reference|--date|--time)$/,
  mkdir: /^(-m|--mode)$/,
  tee: /^$/,
  truncate: /^(-s|-r|--size|--reference)$/,
  mknod: /^(-m|--mode)$/,
  split: /^(-[abClnt]|--suffix-length|--bytes|--line-bytes|--lines|--number|--separator)$/,
} as const;

/** Null for a program that changes no files by itself. */
export function rateFiles(call: Call): Rating | null {
  const { name, args, ground, open } = call;
  const written = (tokens: readonly Token[], whole = false): Rating =>
    worst(tokens.map(({ text, known }) => (known ? writesPath(text, ground, whole) : unknownTarget())));
  /** What is moved away is written to, and is gone whole where it stood. */
  const moved = (sources: readonly Token[]): Rating =>
    worst([written(sources), ...sources.map((one) => written([one], true)).filter(isHigh)]);
  switch (name) {
    case 'rm':
    case 'rmdir':
    case 'unlink': {
      const whole = has(args, 'rR', '--recursive');
      if (open && whole) return high('Which folders it removes shows only when it runs.');
      if (has(args, '', '--no-preserve-root')) return high('It removes everything there is.');
      const targets = operands(args);
      return worst([written(targets, whole), medium('It removes files.')]);
    }
    case 'mv':
    case 'cp':
    case 'install':
    case 'ln':
    case 'link': {
      const targets = operands(args, /^(-t|-m|-o|-g|-S|--target-directory|--mode|--owner|--group)$/);
      const given = valuesOf(args, '-t', '--target-directory');
      const target = given.length > 0 ? given : targets.slice(-1);
      const sources = given.length > 0 ? targets : targets.slice(0, -1);
      return worst([written(target), name === 'mv' ? moved(sources) : LOW, linked(call, sources)]);
    }
    case 'touch':
    case 'mkdir':
    case 'tee':
    case 'truncate':
    case 'mknod':
    case 'split':
      return written(operands(args, VALUED[name]));
    case 'chmod':
    case 'chown':
    case 'chgrp': {
      const [mode, ...targets] = operands(args);
      if (name === 'chmod' && /[+=]\w*s|^[0-7]?[2-7][0-7]{3}$/.test(mode?.text ?? '')) {
        return high('It has a program run with the rights of its owner.');
      }
      const whole = has(args, 'R', '--recursive');
      return worst([written(targets), whole ? medium('It changes the rights of a whole folder.') : LOW]);
    }
    case 'dd':
      return worst([
        medium('It copies raw data.'),
        ...args.flatMap(({ text, known }) =>
          text.startsWith('of=') ? [known ? writesPath(text.slice(3), ground) : unknownTarget()] : [],
        ),
      ]);
    case 'sed':
      return edited(call);
    case 'uniq':
    case 'xxd':
      return written(operands(args, /^-[fswcglos]$/).slice(1));
    case 'sort':
    case 'shuf':
    case 'gcc':
    case 'g++':
    case 'cc':
    case 'c++':
    case 'clang':
    case 'clang++':
    case 'ld':
    case 'rustc':
    case 'go':
      return written(valuesOf(args, '-o', '--output'));
    case 'patch':
    case 'zip':
      return worst([
        written(operands(args, /^-[piorBFVYzdbn]$/).slice(0, 1)),
        ...valuesOf(args, '-d', '--directory')
          .filter(() => name === 'patch')
          .map(({ text }) => writesPath(text, ground)),
      ]);
    case 'unzip':
    case '7z':
    case 'gunzip':
    case 'gzip':
    case 'xz':
    case 'base64':
    case 'zcat':
      return worst([
        ...valuesOf(args, '-d', '--directory')
          .filter(() => name === 'unzip')
          .map(({ text }) => writesPath(text, ground)),
        LOW,
      ]);
    case 'awk':
    case 'gawk':
    case 'mawk':
      return worst(
        args.flatMap(({ text }) =>
          [...text.matchAll(/>\s*"([^"]*)"/g)].map(([, path = '']) => writesPath(path, ground)),
        ),
      );
    default:
      return null;
  }
}

/** What sed's program does, and with `-i` the files that it is done to. */
function edited({ args, ground }: Call): Rating {
  const effects = sedPrograms(args).map(({ text }) => sedEffects(text));
  if (effects.some(({ starts }) => starts)) return high('Its program starts others.');
  const named = has(args, 'e', '--expression');
  const changed = args.some(({ text }) => /^(-[nErsuz]*i|--in-place)/.test(text))
    ? operands(args, /^(-e|-f|--expression|--file)$/).slice(named ? 0 : 1)
    : [];
  return worst([
    ...effects.flatMap(({ writes }) => writes).map((path) => writesPath(path, ground)),
    ...changed.map(({ text, known }) => (known ? writesPath(text, ground) : unknownTarget())),
  ]);
}

const isHigh = ({ risk }: Rating): boolean => risk === 2;

/** A link in the workspace to a place outside of it: what is written to the one lands in the other. */
function linked({ name, ground }: Call, sources: readonly Token[]): Rating {
  if (name !== 'ln' && name !== 'link') return LOW;
  const outside = sources.some(
    ({ text, known }) => known && /^[/~]/.test(text) && isHigh(writesPath(text, ground)),
  );
  return outside ? high('It makes a way out of the workspace.') : LOW;
}

function unknownTarget(): Rating {
  return high('Where it writes shows only when it runs.');
}

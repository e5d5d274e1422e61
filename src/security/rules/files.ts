import type { Rating } from '../analyzer.ts';
import { type Call, has, operands, valuesOf } from './call.ts';
import { writesPath } from './paths.ts';
import { high, LOW, medium, worst } from './rating.ts';
import type { Token } from './words.ts';

/** Null for a program that changes no files by itself. */
export function rateFiles(call: Call): Rating | null {
  const { name, args, ground, open } = call;
  const written = (tokens: readonly Token[], whole = false): Rating =>
    worst(tokens.map(({ text, known }) => (known ? writesPath(text, ground, whole) : unknownTarget())));
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
      return worst([written(name === 'mv' ? [...targets, ...target] : target), LOW]);
    }
    case 'touch':
    case 'mkdir':
    case 'tee':
    case 'truncate':
    case 'mknod':
    case 'split':
      return written(operands(args, /^(-m|-r|-d|-t|-s|--mode|--size|--reference|--date|-[abClnp])$/));
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
      if (
        args.some(({ text }) =>
          /(^|[;{}\n]|\d|\$)\s*e(\s|$)|(^|;)\s*s(.).*\3.*\3[gpI0-9]*e[gpI]*$/.test(text),
        )
      ) {
        return high('Its program starts others.');
      }
      return has(args, 'i', '--in-place')
        ? written(
            operands(args, /^(-e|-f|--expression|--file)$/).slice(has(args, 'e', '--expression') ? 0 : 1),
          )
        : LOW;
    case 'patch':
    case 'unzip':
    case '7z':
    case 'gunzip':
    case 'gzip':
    case 'xz':
    case 'zip':
    case 'base64':
    case 'xxd':
    case 'zcat':
      return worst([
        ...valuesOf(args, '-d', '--directory')
          .filter(() => name === 'unzip' || name === 'patch')
          .map(({ text }) => writesPath(text, ground)),
        LOW,
      ]);
    case 'awk':
    case 'gawk':
    case 'mawk':
      return LOW;
    default:
      return null;
  }
}

function unknownTarget(): Rating {
  return high('Where it writes shows only when it runs.');
}

import type { AssignmentPrefix, Word, WordPart } from 'unbash';

/** What a word of a command comes to, as far as that is known before it runs. */
export interface Token {
  /** The text; parts that are not known stand as `\u0000`. */
  text: string;
  /** Nothing in it is decided only when it runs. */
  known: boolean;
  /** Written out, with no expansion at all: such a word can name a program. */
  plain: boolean;
  /** It has the output of another command in it. */
  substitutes: boolean;
  /** Variables it hands out. */
  variables: readonly string[];
}

/** Stands for what is not known. */
export const UNKNOWN = '\u0000';

/** Variables of the script that have one value throughout it; null for those that have not. */
export type Variables = ReadonlyMap<string, string | null>;

const GIVEN: Readonly<Record<string, string>> = { HOME: '~', PWD: '.', TMPDIR: '/tmp', OLDPWD: '.' };

export function tokenOf(word: Word, variables: Variables): Token {
  const parts = word.parts ?? [];
  if (parts.length === 0) {
    return { text: word.value, known: true, plain: true, substitutes: false, variables: [] };
  }
  const found = { plain: true, substitutes: false, variables: [] as string[] };
  const text = parts.map((part) => textOf(part, variables, found)).join('');
  return { text, known: !text.includes(UNKNOWN), ...found };
}

interface Found {
  plain: boolean;
  substitutes: boolean;
  variables: string[];
}

function textOf(part: WordPart, variables: Variables, found: Found): string {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.map((child) => textOf(child, variables, found)).join('');
    case 'SimpleExpansion':
      return valueOf(part.text.replace(/^\$/, ''), variables, found);
    case 'ParameterExpansion':
      if (part.operation || part.prefix || part.index) {
        found.plain = false;
        found.variables.push(part.parameter);
        return UNKNOWN;
      }
      return valueOf(part.parameter, variables, found);
    case 'CommandExpansion':
    case 'ProcessSubstitution':
      found.plain = false;
      found.substitutes = true;
      // `mktemp` is how scripts come by a place of their own.
      if (/^\$\(\s*mktemp(\s+-d)?\s*\)$/.test(part.text)) return '/tmp/made';
      return /^\$\((pwd|git rev-parse --show-toplevel)\)$/.test(part.text) ? '.' : UNKNOWN;
    case 'ArithmeticExpansion':
      found.plain = false;
      return '0';
    case 'Glob':
      found.plain = false;
      return part.text;
    default:
      found.plain = false;
      return part.text;
  }
}

function valueOf(name: string, variables: Variables, found: Found): string {
  found.plain = false;
  found.variables.push(name);
  if (/^[?#!$-]$/.test(name)) return '0';
  const value = variables.has(name) ? variables.get(name) : GIVEN[name];
  return value ?? UNKNOWN;
}

/** Notes an assignment: a variable that is given two values is not known. */
export function assign(variables: Map<string, string | null>, name: string, value: string | null): void {
  const before = variables.get(name);
  variables.set(name, before === undefined || before === value ? value : null);
}

export function assignedBy(assignment: AssignmentPrefix, variables: Variables): string | null {
  const { value, append, index } = assignment;
  if (append || index || value.type !== 'Word') return null;
  const token = tokenOf(value, variables);
  return token.known ? token.text : null;
}

/** Whether a word is a variable whose index has a substitution: `a[$(…)]`. */
export function hides(word: string): boolean {
  return /^(\w+=)?[A-Za-z_]\w*\[.*(\$\(|`)/s.test(word);
}

/** Whether the shell puts names of files in the place of a word: it has signs for that outside of quotation marks. */
export function isPattern({ text }: Word): boolean {
  return /[*?[{]/.test(text) && /[*?[{]/.test(text.replaceAll(/'[^']*'|"[^"]*"|\\./gs, ''));
}

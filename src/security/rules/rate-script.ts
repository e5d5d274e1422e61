import { posix } from 'node:path';
import {
  type Assignment,
  type Command,
  forEachChild,
  parse,
  type Redirection,
  type SyntaxNode,
  type Word,
} from 'unbash';

import type { Rating } from '../analyzer.ts';
import type { Call } from './call.ts';
import { absolute, findsPath, type Ground, readsPath, writesPath } from './paths.ts';
import { rateProgram, SECRET_NAME } from './programs.ts';
import { high, LOW, medium, worst } from './rating.ts';
import {
  assign,
  assignedBy,
  hides,
  isPattern,
  type Token,
  tokenOf,
  UNKNOWN,
  type Variables,
} from './words.ts';

/** Scripts and commands in arguments of others, characters, and commands: what has more is not looked at. */
const MAX_DEPTH = 6;
const MAX_LENGTH = 100_000;
const MAX_COMMANDS = 2_000;
/** Substitutions and groups that are opened: the parser takes ever longer for those within each other. */
const MAX_OPENED = 2_000;

/** Variables by which programs load code, or start others. */
const LOADS =
  /^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_.*|BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|GIT_SSH|GIT_SSH_COMMAND|GIT_ASKPASS|SSH_ASKPASS|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|GIT_CONFIG.*|PYTHONSTARTUP|PERL5OPT|RUBYOPT|NODE_OPTIONS|EDITOR|VISUAL|PAGER|GIT_EDITOR|GIT_PAGER|BROWSER|https?_proxy|HTTPS?_PROXY|ALL_PROXY)$/;
/** Programs whose output is code of others, or hides what it is. */
const BRINGS = /^(curl|wget|base64|base32|xxd|openssl|uudecode|nc|ncat|gunzip|zcat|git)$/;
const SYSTEM = /^\/(usr\/(local\/)?)?s?bin\//;

interface Scope {
  ground: Ground;
  piped: boolean;
}

/** Rates a text as bash would carry it out, and all that stands in it: substitutions, functions, scripts in arguments. */
export function rateScript(text: string, ground: Ground, depth = 0): Rating {
  if (depth > MAX_DEPTH) return high('It has scripts within scripts within scripts.');
  if (text.length > MAX_LENGTH) return high('It is too long to be looked at.');
  if (opened(text) > MAX_OPENED) return high('It has too many substitutions to be looked at.');
  const script = parse(text);
  return new ScriptRater(script, depth).rate(ground);
}

function opened(text: string): number {
  return text.match(/[$<>]\(|\$\{|\(\(/g)?.length ?? 0;
}

class ScriptRater {
  readonly #script: ReturnType<typeof parse>;
  readonly #depth: number;
  readonly #variables: Variables;
  readonly #functions = new Set<string>();
  /** Names of files that something was brought into. */
  readonly #brought = new Set<string>();
  readonly #found: Rating[] = [];
  #commands = 0;

  constructor(script: ReturnType<typeof parse>, depth: number) {
    this.#script = script;
    this.#depth = depth;
    const variables = new Map<string, string | null>();
    this.#collect(script, variables);
    this.#variables = variables;
  }

  rate(ground: Ground): Rating {
    this.#visit(this.#script, { ground: { ...ground }, piped: false });
    if (this.#commands > MAX_COMMANDS) this.#found.push(high('It has too many commands to be looked at.'));
    return worst(this.#found);
  }

  /** What is defined anywhere in the script. */
  #collect(node: SyntaxNode, variables: Map<string, string | null>): void {
    if (node.type === 'Assignment') assign(variables, node.name, assignedBy(node, variables));
    else if (node.type === 'Function') this.#functions.add(node.name.value);
    else if (node.type === 'For' || node.type === 'Select') {
      for (const word of node.wordlist ?? [])
        assign(variables, node.name.value, this.#loopValue(word, variables));
      if (!node.wordlist) variables.set(node.name.value, null);
    } else if (
      node.type === 'Command' &&
      /^(read|mapfile|readarray|printf|declare|typeset|local|export|let|getopts)$/.test(
        node.name?.value ?? '',
      )
    ) {
      // These set variables that are named in a word.
      for (const arg of node.args)
        if (arg.type === 'Word') variables.set(arg.value.split('=')[0] ?? '', null);
    } else if (
      node.type === 'ParameterExpansion' &&
      node.operation?.type === 'Default' &&
      node.operation.operator.includes('=')
    ) {
      variables.set(node.parameter, null);
    }
    forEachChild(node, (child) => this.#collect(child, variables));
  }

  /** Files that a pattern finds stand where the pattern says; only their names are not known. */
  #loopValue(word: Word, variables: Variables): string | null {
    const { text, known } = tokenOf(word, variables);
    if (!known) return null;
    return /[*?[]/.test(text) ? posix.join(posix.dirname(text), 'found') : text;
  }

  #visit(node: SyntaxNode, scope: Scope): void {
    switch (node.type) {
      case 'Script':
        if (node.errors?.length) this.#found.push(high('It could not be read as a command of bash.'));
        break;
      case 'CommandExpansion':
      case 'ProcessSubstitution':
        if (!node.script) this.#found.push(high('A substitution in it could not be read.'));
        return this.#children(node, {
          ground: { ...scope.ground },
          piped: node.type === 'ProcessSubstitution' && node.operator === '>',
        });
      case 'Pipeline':
        for (const [n, command] of node.commands.entries()) {
          this.#visit(command, { ground: { ...scope.ground }, piped: n > 0 || scope.piped });
        }
        return;
      case 'Subshell':
        return this.#children(node, { ...scope, ground: { ...scope.ground } });
      case 'Function':
        if (callsItself(node, node.name.value))
          this.#found.push(high('It has a function that calls itself.'));
        break;
      case 'Assignment':
        if (LOADS.test(node.name))
          this.#found.push(high(`The variable ${node.name} has programs load or start something.`));
        if (node.value.type === 'Word' && hides(node.value.value))
          this.#found.push(high('It has the shell carry out what stands in an index.'));
        if (node.name === 'PATH') this.#found.push(medium('It changes where programs are found.'));
        break;
      case 'Redirected':
        this.#visit(node.command, node.redirects.some(feeds) ? { ...scope, piped: true } : scope);
        for (const redirect of node.redirects) this.#visit(redirect, scope);
        return;
      case 'Redirect':
        this.#found.push(this.#redirect(node, scope));
        break;
      case 'Command':
        this.#command(node, scope);
        break;
      case 'TestUnary':
        if (hides(node.operand.value))
          this.#found.push(high('It has the shell carry out what stands in an index.'));
        break;
      case 'TestBinary':
        if (node.operator.startsWith('-') && (hides(node.left.value) || hides(node.right.value)))
          this.#found.push(high('It has the shell carry out what stands in an index.'));
        break;
      case 'Transform':
        if (node.operand.value === 'P')
          this.#found.push(high('It has the shell carry out what stands in a variable.'));
        break;
      default:
    }
    this.#children(node, scope);
  }

  #children(node: SyntaxNode, scope: Scope): void {
    forEachChild(node, (child) => this.#visit(child, scope));
  }

  #redirect(node: Extract<Redirection, { type: 'Redirect' }>, { ground }: Scope): Rating {
    if (!node.target) return LOW;
    const { text, known } = tokenOf(node.target, this.#variables);
    if (/^(\d+|\d*-|-)$/.test(text) && node.operator.includes('&')) return LOW;
    if (node.target.parts?.some(({ type }) => type === 'ProcessSubstitution')) return LOW;
    if (/^\/dev\/(tcp|udp)\//.test(text)) return high('It opens a connection of its own to the network.');
    if (node.operator === '<' || node.operator === '<&') return known ? readsPath(text, ground) : LOW;
    return known ? writesPath(text, ground) : high('Where it writes shows only when it runs.');
  }

  #command(node: Command, scope: Scope): void {
    const { name } = node;
    // `IFS=, read` splits what is read, and nothing else.
    const splits = node.prefix.some(
      (one) => one.type === 'Assignment' && one.name === 'IFS' && !isEmpty(one),
    );
    if (splits && name?.value !== 'read') this.#found.push(high('It changes how words are split.'));
    if (!name || (this.#commands += 1) > MAX_COMMANDS) return;
    const program = tokenOf(name, this.#variables);
    if (!program.plain) {
      this.#found.push(high('Which program it starts shows only when it runs.'));
      return;
    }
    const args = node.args.flatMap((arg) => this.#argument(arg));
    this.#found.push(
      this.#secrets(program.text, args),
      ...args.map(({ text }) => readsPath(text, scope.ground)),
      ...node.args
        .filter((arg) => arg.type === 'Word' && isPattern(arg))
        .flatMap((arg) => this.#argument(arg))
        .map(({ text }) => findsPath(text)),
    );
    if (NAMES.test(program.text) && node.args.some((arg) => arg.type === 'Word' && hides(arg.value)))
      this.#found.push(high('It has the shell carry out what stands in an index.'));
    const fed = node.redirects.some(feeds);
    if (fed && program.text === 'exec')
      this.#found.push(high('It has the shell read what another program writes.'));
    this.#found.push(
      this.#program(
        [program, ...args],
        { ...scope, piped: scope.piped || fed },
        inputOf(node.redirects, this.#variables),
      ),
    );
    if (/^(cd|pushd|popd)$/.test(program.text)) scope.ground.cwd = cwdAfter(args, scope.ground);
    if (BRINGS.test(program.text)) {
      for (const target of [...args, ...this.#targets(node)]) this.#brought.add(posix.basename(target.text));
    }
  }

  #argument(arg: Word | Assignment): Token[] {
    if (arg.type === 'Assignment') {
      const value = assignedBy(arg, this.#variables);
      const text = `${arg.name}=${value ?? UNKNOWN}`;
      const known = value !== null || arg.value.type === 'ArrayValue';
      return [{ text, known, plain: known, substitutes: false, variables: [] }];
    }
    const token = tokenOf(arg, this.#variables);
    // A variable outside of quotation marks becomes as many arguments as it has words.
    const quoted = (arg.parts ?? []).every(
      ({ type }) => type !== 'SimpleExpansion' && type !== 'ParameterExpansion',
    );
    if (quoted || !/\s/.test(token.text)) return [token];
    return token.text.split(/\s+/).map((text) => ({ ...token, text }));
  }

  #targets(node: Command): Token[] {
    return node.redirects.flatMap((one) =>
      one.type === 'Redirect' && one.target ? [tokenOf(one.target, this.#variables)] : [],
    );
  }

  /** Secrets are variables: a program that is given one may show it or send it away. */
  #secrets(program: string, args: readonly Token[]): Rating {
    if (/^(\[|\[\[|test|unset)$/.test(program)) return LOW;
    const secret = args.flatMap(({ variables }) => variables).find((name) => SECRET_NAME.test(name));
    return secret ? high(`It hands out the variable ${secret}.`) : LOW;
  }

  #program(words: readonly Token[], scope: Scope, input: string | null, open = false, depth = 0): Rating {
    const [program, ...args] = words;
    if (!program) return LOW;
    if (depth > MAX_DEPTH) return high('It has commands within commands within commands.');
    if (!program.known || /[*?[{]/.test(program.text.replace(/^\[\[?$/, ''))) {
      return high('Which program it starts shows only when it runs.');
    }
    if (this.#functions.has(program.text)) return LOW;
    const name = posix.basename(program.text);
    const ran = [program, ...args].find(({ text }) => this.#brought.has(posix.basename(text)));
    const ground = { ...scope.ground };
    const call: Call = {
      name,
      args,
      ground,
      piped: scope.piped,
      input,
      open,
      script: (text, at = ground) => rateScript(text, at, this.#depth + 1),
      command: (rest, more) => this.#program(rest, scope, input, more?.open ?? open, depth + 1),
    };
    return worst([
      rateProgram(call),
      ...(program.text.includes('/') && !SYSTEM.test(program.text)
        ? [medium(`It starts ${program.text}, which may be any program.`)]
        : []),
      ...(ran && (STARTS.test(name) || ran === program)
        ? [high('It starts what it has just brought here.')]
        : []),
    ]);
  }
}

/** Commands that take names of variables: the shell evaluates the index in such a name, quoted or not. */
const NAMES =
  /^(test|\[|printf|let|declare|typeset|local|readonly|export|unset|read|mapfile|readarray|wait|getopts)$/;

const STARTS = /^(sh|bash|dash|zsh|ksh|source|\.|python[0-9.]*|node|perl|ruby|php|chmod)$/;

function cwdAfter(args: readonly Token[], ground: Ground): string | null {
  const to = args.find(({ text }) => !/^-[LPe@]+$/.test(text));
  if (!to) return '~';
  return to.known && to.text !== '-' && !/[*?[]/.test(to.text) ? absolute(to.text, ground.cwd) : null;
}

/** Whether what is read comes from another program. */
function feeds(redirect: Redirection): boolean {
  if (redirect.type !== 'Redirect' || !redirect.operator.startsWith('<')) return false;
  return redirect.target?.parts?.some(({ type }) => type === 'ProcessSubstitution') ?? false;
}

/** What is read, where it is written out; a text with parts that are not known is none. */
function inputOf(redirects: readonly Redirection[], variables: Variables): string | null {
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') return redirect.body.text;
    if (redirect.type === 'HereString' && redirect.target) {
      const { text, known } = tokenOf(redirect.target, variables);
      // Not known, it is taken for what cannot be read.
      return known ? text : "'";
    }
  }
  return null;
}

function isEmpty({ value }: Assignment): boolean {
  return value.type === 'Word' && value.text === '';
}

function callsItself(node: SyntaxNode, name: string): boolean {
  let found = false;
  forEachChild(node, (child) => {
    found ||= (child.type === 'Command' && child.name?.value === name) || callsItself(child, name);
  });
  return found;
}

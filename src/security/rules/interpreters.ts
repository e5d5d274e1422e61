import type { Rating } from '../analyzer.ts';
import { type Call, has, operands } from './call.ts';
import { high, LOW, medium, worst } from './rating.ts';

const SHELLS = /^(sh|bash|dash|zsh|ksh|mksh|ash|fish|csh|tcsh|rbash)$/;
const LANGUAGES =
  /^(python[0-9.]*|pypy3?|node|nodejs|deno|bun|perl|ruby|php|lua|tclsh|osascript|Rscript|julia|groovy|jshell|ghci|scala|irb)$/;
/** What code in another language does when it leaves what it was written for: starts programs, connects, decodes, removes. */
const REACHES =
  /\b(os\.(system|popen|exec\w*|spawn\w*|remove|unlink|environ)|subprocess|child_process|execSync|spawnSync|pty\.|socket|urllib|requests\.|http\.client|httpx|fetch\(|net\.connect|require\(['"](net|http|https|dgram)|shutil\.rmtree|rmSync|unlinkSync|base64|b64decode|atob|fromhex|Buffer\.from|marshal|pickle|__import__|importlib|eval\(|Function\(|import\(|exec\(|compile\(|system\(|\b(system|exec|spawn)\s*['"]|`|qx\b|popen|IO::Socket|TCPSocket|Net::HTTP|fsockopen|shell_exec|passthru|proc_open|process\.(env|binding|dlopen)|Deno\.|Bun\.|[Oo]pen3|mainModule|os\.execute|io\.popen|ENV\[|getenv|chmod)|%x\W|-M(IO|Socket|LWP|HTTP|Net|POSIX)\b/;
const READS_ONLY = /^(-V|-v|--version|--help|-h)$/;

/** Null for a program that runs no code it is given. */
export function rateInterpreter(call: Call): Rating | null {
  if (SHELLS.test(call.name)) return shell(call);
  if (LANGUAGES.test(call.name)) return language(call);
  return null;
}

function shell(call: Call): Rating {
  const { args, input, piped, open } = call;
  const at = args.findIndex(({ text }) => /^-[a-zA-Z]*c$/.test(text));
  const code = at === -1 ? undefined : args.slice(at + 1).find(({ text }) => !text.startsWith('-'));
  if (code) {
    if (!code.known) return high('The commands that it gives to a shell show only when it runs.');
    return call.script(code.text);
  }
  if (at !== -1) return high('The commands that it gives to a shell show only when it runs.');
  const [file] = operands(args, /^(-o|\+o|-O|--rcfile|--init-file)$/);
  if (file && !has(args, 's')) return scriptFile(file.known ? file.text : null);
  if (args.length > 0 && args.every(({ text }) => READS_ONLY.test(text))) return LOW;
  if (input !== null) return call.script(input);
  if (piped || open) return high('A shell carries out what another program writes.');
  return medium('It starts a shell.');
}

/** What `source`, `bash FILE` and `./FILE` carry out: not read, as it may be another by then. */
export function scriptFile(path: string | null): Rating {
  if (path === null) return high('Which script it is shows only when it runs.');
  if (path.startsWith('/dev/') || path.startsWith('/proc/'))
    return high('It carries out what another program writes.');
  return medium('It carries out a script.');
}

function language({ name, args, input, piped, open, command }: Call): Rating {
  const code = args.findIndex(({ text }) => CODE.test(text));
  const glued = args.find(({ text }) => /^--(eval|print)=/.test(text));
  if (glued)
    return glued.known ? ofCode(glued.text) : high('The code that it is given shows only when it runs.');
  if (name.startsWith('python') && args.some(({ text }) => text === '-m')) return pythonModule(args, command);
  if (code !== -1) {
    const given = args[code + 1];
    if (!given?.known || open) return high('The code that it is given shows only when it runs.');
    // Options before the code load libraries for it.
    return ofCode(args.map(({ text }) => text).join('\n'));
  }
  if (args.length > 0 && args.every(({ text }) => READS_ONLY.test(text))) return LOW;
  const [file] = operands(args);
  if (file && file.text !== '-') return scriptFile(file.known ? file.text : null);
  if (input !== null) return ofCode(input);
  if (piped || open) return high('It carries out what another program writes.');
  return medium(`It starts ${name}.`);
}

const CODE = /^(-c|-e|-E|-p|-r|-n?e|-p?e|-le|-ne|-pe|--eval|--print|eval)$/;

function ofCode(code: string): Rating {
  return REACHES.test(code)
    ? high('The code that it is given starts programs, connects, decodes or removes something.')
    : medium('It carries out code that it is given.');
}

function pythonModule(args: Call['args'], command: Call['command']): Rating {
  const at = args.findIndex(({ text }) => text === '-m');
  const module = args[at + 1];
  if (!module?.known) return high('Which program it is shows only when it runs.');
  if (
    /^(pytest|unittest|mypy|ruff|black|flake8|pylint|isort|compileall|json\.tool|venv|coverage|doctest|timeit)$/.test(
      module.text,
    )
  ) {
    return LOW;
  }
  if (module.text === 'http.server') return medium('It serves files to the network.');
  return worst([medium('It starts a module of Python.'), command(args.slice(at + 1))]);
}

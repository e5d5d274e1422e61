import type { Rating } from '../analyzer.ts';
import { type Call, has, operands, valuesOf } from './call.ts';
import { writesPath } from './paths.ts';
import { high, LOW, medium, worst } from './rating.ts';

const MANAGERS =
  /^(npm|pnpm|yarn|bun|cargo|poetry|uv|pdm|hatch|mvn|gradle|gradlew|dotnet|mix|pip|pip3|pipx|apt|apt-get|apk|dnf|yum|pacman|brew|gem|bundle|conda|mamba|composer|corepack|nvm|rustup|snap)$/;
const EVERYDAY =
  /^(|test|t|run( \S+)?|build|check|clippy|fmt|lint|start|ls|list|view|outdated|audit|why|show|freeze|--version|-v|-V|compile|verify|doc|tree|info|search|exec|pack|bench)( |$)/;

/** Options that say where packages come from. */
const SOURCES = [
  '--index-url',
  '--extra-index-url',
  '--trusted-host',
  '--find-links',
  '--default-index',
  '--index',
  '--registry',
  '--source',
];
/** Where everybody's packages come from. */
const USUAL =
  /^(https:\/\/)?(pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|rubygems\.org|crates-io)(\/[^@]*)?$/;

const SECRET_SETTING = /auth|token|password|secret|(^|[:._-])key|cert|credential/i;
const LEADING_SETTING =
  /registr|repositor|index|proxy|script-shell|prefix|config|host|find-links|cafile|strict-ssl|url|source|git$|node-options/i;

/** What carries out a program of a package, or of the project's environment: the words before it. */
const RUNNERS: Readonly<Record<string, RegExp>> = {
  npm: /^(exec|x|explore)$/,
  pnpm: /^(exec|dlx)$/,
  yarn: /^(exec|dlx)$/,
  bun: /^(exec|x)$/,
  poetry: /^run$/,
  uv: /^run$/,
  pdm: /^run$/,
  hatch: /^run$/,
  pipx: /^run$/,
  bundle: /^exec$/,
  conda: /^run$/,
  mamba: /^run$/,
  rustup: /^run$/,
};

/** Null for a program that manages no packages. */
export function ratePackages(call: Call): Rating | null {
  const { name, args, ground } = call;
  if (!MANAGERS.test(name)) return null;
  const words = operands(args);
  const [first] = words.map(({ text }) => text);
  const said = words.map(({ text }) => text).join(' ');
  const isPip = /^pip3?$/.test(name) || (name === 'uv' && first === 'pip');
  const sources = [
    ...valuesOf(args, isPip ? '-i' : name === 'gem' ? '-s' : '', ...SOURCES),
    ...(isPip ? valuesOf(args, '-f') : []),
  ];
  const rated = /^(config|c|get|set)$/.test(first ?? '')
    ? configured(first === 'config' || first === 'c' ? words.slice(1) : words)
    : EVERYDAY.test(said)
      ? LOW
      : medium(`${name} installs or changes packages.`);
  return worst([
    ...(sources.some(({ text }) => !USUAL.test(text))
      ? [high('It takes packages from a place that it names itself.')]
      : []),
    ...(has(args, '', '--script-shell', '--node-options', '--globalconfig', '--userconfig')
      ? [high(`It says what ${name} starts for scripts of packages.`)]
      : []),
    ...(isPip ? valuesOf(args, '-t', '--target', '--prefix', '--root') : []).map(({ text }) =>
      writesPath(text, ground),
    ),
    ...(RUNNERS[name]?.test(first ?? '') ? [ran(call, name === 'rustup' || first === 'explore')] : []),
    rated,
  ]);
}

/** @param named whether a version or a package stands before the program */
function ran({ args, name, command, script }: Call, named: boolean): Rating {
  const code = name === 'npm' ? valuesOf(args, '-c', '--call')[0] : undefined;
  if (code) {
    return code.known ? script(code.text) : high('What it has a shell carry out shows only when it runs.');
  }
  const at = args.findIndex(({ text }) => !text.startsWith('-'));
  const rest = args.slice(at + 1).filter(({ text }, n) => n > 0 || text !== '--');
  const from = Math.max(
    0,
    rest.findIndex(({ text }) => !text.startsWith('-')),
  );
  const started = rest.slice(from + (named ? 1 : 0)).filter(({ text }, n) => n > 0 || text !== '--');
  return started.length === 0 ? LOW : command(started);
}

/** `config get X`, `config set X Y`; `config X Y` of some. */
function configured(words: Call['args']): Rating {
  const [verb, second] = words.map(({ text }) => text);
  const key = /^(get|set|list|ls|edit|delete|unset)$/.test(verb ?? '') ? second : verb;
  if (key?.includes('\u0000')) return high('Which setting it is shows only when it runs.');
  if (key !== undefined && SECRET_SETTING.test(key)) return high(`The setting ${key} holds a secret.`);
  if (verb === 'get' && key !== undefined) return LOW;
  if (key !== undefined && LEADING_SETTING.test(key)) {
    return high(`The setting ${key} says where packages come from, or what is started for them.`);
  }
  return medium('It shows or changes settings of a package manager.');
}

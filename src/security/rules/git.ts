import type { Rating } from '../analyzer.ts';
import { type Call, has, operands, valuesOf } from './call.ts';
import { high, LOW, medium, worst } from './rating.ts';
import { absolute, type Ground, writesPath } from './paths.ts';
import type { Token } from './words.ts';

/** Settings by which git starts programs, or goes elsewhere. */
const DANGEROUS =
  /^(alias\..*|include(if\..*)?\.path|remote\..*\.(uploadpack|receivepack|proxy|vcs)|core\.(sshcommand|hookspath|fsmonitor|pager|editor|gitproxy|askpass)|credential\..*|url\..*|http\..*proxy|http\.sslverify|diff\..*\.(command|textconv)|diff\.external|filter\..*|merge\..*\.driver|sequence\.editor|gpg\..*program|uploadpack\..*|protocol\..*)$/i;
/** Options with which a command of git starts a program that they name: short ones, then long ones. */
const STARTS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  clone: ['u', '--upload-pack', '--template'],
  init: ['', '--template'],
  fetch: ['', '--upload-pack'],
  pull: ['', '--upload-pack'],
  'ls-remote': ['', '--upload-pack', '--exec'],
  'fetch-pack': ['', '--upload-pack', '--exec'],
  archive: ['', '--exec'],
  grep: ['O', '--open-files-in-pager'],
  difftool: ['x', '--extcmd'],
};
const READS = new Set(
  'status log diff show branch tag blame grep ls-files ls-tree ls-remote rev-parse rev-list describe shortlog reflog cat-file remote config help version whatchanged name-rev merge-base for-each-ref count-objects var check-ignore'.split(
    ' ',
  ),
);
const LOSES = /^(reset|clean|restore|checkout|stash|rebase|gc|prune|worktree|update-ref)$/;

export function rateGit(call: Call): Rating {
  const { args } = call;
  let at = 0;
  const found: Rating[] = [];
  let { ground } = call;
  for (; at < args.length; at += 1) {
    const text = args[at]?.text ?? '';
    if (text === '-c' || text === '--config-env')
      found.push(setting(args[(at += 1)]?.text.split('=')[0] ?? ''));
    else if (text === '-C' || text === '--work-tree') ground = within(ground, args[(at += 1)]);
    else if (text === '--git-dir') at += 1;
    else if (text.startsWith('--work-tree='))
      ground = within(ground, valuesOf(args.slice(at, at + 1), '', '--work-tree')[0]);
    else if (text.startsWith('--config-env=')) found.push(setting(text.split('=')[1] ?? ''));
    else if (text.startsWith('--exec-path=')) found.push(high('It has git start other programs.'));
    else if (!text.startsWith('-')) break;
  }
  const command = args[at];
  const rest = args.slice(at + 1);
  if (!command) return worst(found);
  if (!command.known) return high('Which git command it is shows only when it runs.');
  const started = STARTS[command.text];
  const attached = started?.[0] ? `-${started[0]}` : null;
  if (
    (started && has(rest, ...started)) ||
    rest.some(
      ({ text }) => (attached !== null && text.startsWith(attached)) || /^(--[a-z-]+=)?ext::/.test(text),
    )
  ) {
    return high('It has git start another program.');
  }
  if (rest.some(({ substitutes, text }) => substitutes && text.includes('://'))) {
    return high('It sends the output of another command.');
  }
  return worst([
    ...found,
    ...written(command.text, rest, ground),
    commandRisk(command.text, { ...call, args: rest, ground }),
  ]);
}

/** Where a command of git writes that is told to write elsewhere. */
function written(command: string, args: readonly Token[], ground: Ground): Rating[] {
  const words = operands(args);
  const output = /^(archive|format-patch)$/.test(command) ? '-o' : '';
  const targets = [
    ...valuesOf(args, output, '--output', '--output-directory'),
    ...(command === 'init' ? words : []),
    ...(command === 'mv' ? words.slice(-1) : []),
    ...(/^(bundle|worktree)$/.test(command) && /^(create|add)$/.test(words[0]?.text ?? '')
      ? words.slice(1, 2)
      : []),
  ];
  return [
    ...targets.filter(({ known }) => known).map(({ text }) => writesPath(text, ground)),
    ...(has(args, '', '--unsafe-paths') ? [high('It changes files outside of the repository.')] : []),
  ];
}

function commandRisk(command: string, call: Call): Rating {
  const { args } = call;
  const first = operands(args)[0]?.text ?? '';
  switch (command) {
    case 'push':
      return push(call);
    case 'config':
      return configured(call);
    case 'filter-branch':
    case 'filter-repo':
      return high('It rewrites the history of the repository.');
    case 'credential':
    case 'credential-store':
    case 'credential-cache':
      return high('It hands out stored passwords.');
    case 'send-email':
    case 'daemon':
    case 'upload-pack':
    case 'instaweb':
      return high(`git ${command} hands out what the repository holds.`);
    case 'submodule':
    case 'bisect': {
      const at = args.findIndex(({ text }) => text === 'foreach' || text === 'run');
      if (at === -1) return medium(`git ${command} fetches or changes files.`);
      const rest = args.slice(at + 1).filter(({ text }) => !text.startsWith('--'));
      const [only] = rest;
      return rest.length === 1 && only ? call.script(only.text) : call.command(rest);
    }
    case 'rebase':
      return worst([
        medium('It rewrites commits.'),
        ...valuesOf(args, '-x', '--exec').map(({ text }) => call.script(text)),
      ]);
    case 'clone':
      return worst([
        ...valuesOf(args, '-c', '--config').map(({ text }) => setting(text.split('=')[0] ?? '')),
        medium('It fetches a repository.'),
        ...operands(args)
          .slice(1)
          .map(({ text }) => writesPath(text, call.ground)),
        ...(first.startsWith('ext::') ? [high('It has git start another program.')] : []),
      ]);
    case 'remote':
      return ['', 'show', 'get-url', '-v'].includes(first)
        ? LOW
        : medium('It changes where git fetches and pushes.');
    case 'branch':
    case 'tag':
      return has(args, 'Dd', '--delete') ? medium(`It removes a ${command}.`) : LOW;
    default:
      if (LOSES.test(command)) return loses(command, call);
      return READS.has(command) ||
        /^(add|commit|switch|fetch|pull|merge|init|mv|rm|cherry-pick|revert|notes|apply|am|format-patch|archive|bundle)$/.test(
          command,
        )
        ? LOW
        : medium(`git ${command} is no everyday command.`);
  }
}

/** What is not committed is lost; elsewhere than in the workspace, or all around, that is more than the agent's own. */
function loses(command: string, { args, ground }: Call): Rating {
  const cleaned = command === 'clean' ? operands(args, /^(-e|--exclude)$/) : [];
  return worst([
    writesPath('.', ground),
    ...cleaned
      .filter(({ text }) => text !== '.')
      .map(({ text, known }) =>
        known ? writesPath(text, ground, true) : high('What it removes shows only when it runs.'),
      ),
    medium(`git ${command} may lose work that is not committed.`),
  ]);
}

/** Where git works when it is told to work elsewhere. */
function within(ground: Ground, place: Token | undefined): Ground {
  return { ...ground, cwd: place?.known ? absolute(place.text, ground.cwd) : null };
}

function push({ args }: Call): Rating {
  const refs = operands(args, /^(-o|--push-option|--receive-pack|--exec|--repo)$/).slice(1);
  if (
    has(args, 'f', '--force', '--force-with-lease', '--mirror', '--prune') ||
    refs.some(({ text }) => text.startsWith('+'))
  ) {
    return high('It overwrites what others have pushed.');
  }
  if (has(args, 'd', '--delete') || refs.some(({ text }) => text.startsWith(':'))) {
    return high('It removes branches or tags of others.');
  }
  if (has(args, '', '--receive-pack', '--exec')) return high('It starts a program on the other side.');
  if (args.some(({ known }) => !known)) return medium('It pushes to a place that shows only when it runs.');
  return medium('It pushes commits.');
}

function configured({ args }: Call): Rating {
  const words = operands(args, /^(-f|--file|--type|--default)$/);
  const [key, value] = /^(set|get|unset|list|edit)$/.test(words[0]?.text ?? '') ? words.slice(1) : words;
  if (!key || value === undefined) return has(args, 'e', '--edit') ? medium('It changes git settings.') : LOW;
  if (has(args, '', '--global', '--system')) return high('It changes the git settings of everything here.');
  return setting(key.text);
}

function setting(key: string): Rating {
  return DANGEROUS.test(key) || key.includes('\u0000')
    ? high(`The git setting ${key} starts programs, or leads elsewhere.`)
    : LOW;
}

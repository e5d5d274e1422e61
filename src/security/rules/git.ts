import type { Rating } from '../analyzer.ts';
import { type Call, has, operands } from './call.ts';
import { high, LOW, medium, worst } from './rating.ts';
import { writesPath } from './paths.ts';

/** Settings by which git starts programs, or goes elsewhere. */
const DANGEROUS =
  /^(alias\..*|core\.(sshcommand|hookspath|fsmonitor|pager|editor|gitproxy|askpass)|credential\..*|url\..*|http\..*proxy|http\.sslverify|diff\..*\.(command|textconv)|diff\.external|filter\..*|merge\..*\.driver|sequence\.editor|gpg\..*program|uploadpack\..*|protocol\..*)$/i;
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
  for (; at < args.length; at += 1) {
    const text = args[at]?.text ?? '';
    if (text === '-c' || text === '--config-env')
      found.push(setting(args[(at += 1)]?.text.split('=')[0] ?? ''));
    else if (text === '-C' || text === '--git-dir' || text === '--work-tree') at += 1;
    else if (text.startsWith('--exec-path=')) found.push(high('It has git start other programs.'));
    else if (!text.startsWith('-')) break;
  }
  const command = args[at];
  const rest = args.slice(at + 1);
  if (!command) return worst(found);
  if (!command.known) return high('Which git command it is shows only when it runs.');
  return worst([...found, commandRisk(command.text, { ...call, args: rest })]);
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
    case 'rebase': {
      const at = args.findIndex(({ text }) => text === '--exec' || text === '-x');
      const script = args[at + 1];
      return worst([
        medium('It rewrites commits.'),
        ...(at === -1 || !script ? [] : [call.script(script.text)]),
      ]);
    }
    case 'clone':
      return worst([
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
      if (LOSES.test(command)) return medium(`git ${command} may lose work that is not committed.`);
      return READS.has(command) ||
        /^(add|commit|switch|fetch|pull|merge|init|mv|rm|cherry-pick|revert|notes|apply|am|format-patch|archive|bundle)$/.test(
          command,
        )
        ? LOW
        : medium(`git ${command} is no everyday command.`);
  }
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
  const [key, value] = operands(args, /^(-f|--file|--type|--default)$/);
  if (!key || value === undefined) return has(args, 'e', '--edit') ? medium('It changes git settings.') : LOW;
  if (has(args, '', '--global', '--system')) return high('It changes the git settings of everything here.');
  return setting(key.text);
}

function setting(key: string): Rating {
  return DANGEROUS.test(key) || key.includes('\u0000')
    ? high(`The git setting ${key} starts programs, or leads elsewhere.`)
    : LOW;
}

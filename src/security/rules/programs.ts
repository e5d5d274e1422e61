import type { Rating } from '../analyzer.ts';
import { type Call, has, operands, valuesOf } from './call.ts';
import { rateFiles } from './files.ts';
import { rateGit } from './git.ts';
import { rateInterpreter, scriptFile } from './interpreters.ts';
import { rateNetwork } from './network.ts';
import { ratePublishing } from './publishing.ts';
import { ratePackages } from './packages.ts';
import { high, LOW, medium, worst } from './rating.ts';
import type { Token } from './words.ts';
import { rateWrapper } from './wrappers.ts';

const NEVER =
  /^(sudo|doas|su|pkexec|runuser|chroot|unshare|nsenter|mount|umount|mkfs(\..+)?|mke2fs|fdisk|sfdisk|parted|wipefs|losetup|cryptsetup|swapoff|swapon|shred|shutdown|reboot|halt|poweroff|init|telinit|ld(-linux.*)?\.so.*|systemctl|service|crontab|at|batch|useradd|userdel|usermod|groupadd|passwd|chpasswd|visudo|vipw|insmod|rmmod|modprobe|sysctl|iptables|ip6tables|nft|ufw|setcap|setenforce|chattr|gdb|strace|ltrace|bpftrace|gpg|gpg2|ssh-keygen|ssh-add|ssh-agent|security|keyctl|secret-tool|pass|vault|op|bw|aws-vault|kill-all|killall5|debugfs|dmsetup|kexec|capsh)$/;
const HARMLESS = new Set(
  'mktemp [ [[ test true false : echo printf pwd cd pushd popd dirs ls dir head tail cat tac nl less more wc sort uniq cut tr rev fold fmt column paste join comm diff cmp grep egrep fgrep zgrep rg ag ack fd tree file stat du df date cal uname hostname whoami id groups uptime ps top free which type whereis hash basename dirname realpath readlink seq sleep wait jobs expr bc dc jq yq xmllint md5sum sha1sum sha256sum sha512sum cksum b2sum od hexdump strings nproc getconf locale man info help times shopt set umask ulimit return exit break continue shift local let getopts nm objdump readelf ldd lsof tput clear yes factor numfmt pr tsort bg fg disown sync exa eza bat delta cloc tokei scc make cmake ninja meson tsc eslint oxlint oxfmt prettier jest vitest mocha ava tap pytest tox nox mypy ruff black isort flake8 pylint pyright go gofmt rustc rustfmt javac java gcc g++ cc c++ clang clang-format ld ar shellcheck shfmt hadolint yamllint markdownlint rubocop rspec phpunit rake ctest mkfifo tsx ts-node'.split(
    ' ',
  ),
);

/** Names of variables that hold secrets. */
export const SECRET_NAME =
  /(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIAL)/i;

/** Rates one program with its arguments. */
export function rateProgram(call: Call): Rating {
  const { name, args } = call;
  if (NEVER.test(name)) return high(`${name} reaches beyond the work on files.`);
  const wrapped = rateWrapper(call);
  if (wrapped) return wrapped;
  if (name === 'git') return rateGit(call);
  const special =
    rateInterpreter(call) ??
    rateNetwork(call) ??
    ratePublishing(call) ??
    ratePackages(call) ??
    rateBuiltin(call) ??
    rateFiles(call);
  if (special) return special;
  if (name === 'kill' || name === 'pkill' || name === 'killall') {
    return args.some(({ text }) => text === '-1' || text === '1') && name === 'kill'
      ? high('It ends every program there is.')
      : medium('It ends programs.');
  }
  if (HARMLESS.has(name)) return LOW;
  return medium(`What ${name} does is not known here.`);
}

/** Commands of the shell itself. */
function rateBuiltin(call: Call): Rating | null {
  const { name, args } = call;
  switch (name) {
    case 'eval': {
      if (args.some(({ known }) => !known))
        return high('What it has the shell carry out shows only when it runs.');
      return call.script(args.map(({ text }) => text).join(' '));
    }
    case 'trap': {
      const [code] = operands(args);
      return code?.known === false
        ? high('What it has the shell carry out shows only when it runs.')
        : call.script(code?.text ?? '');
    }
    case 'source':
    case '.':
      return scriptFile(args[0]?.known ? args[0].text : null);
    case 'alias':
      return worst(
        args.map(({ text }) => (text.includes('=') ? call.script(text.slice(text.indexOf('=') + 1)) : LOW)),
      );
    case 'enable':
      return has(args, 'f')
        ? high('It loads code into the shell.')
        : medium('It changes commands of the shell.');
    case 'bind':
    case 'complete':
      return medium(`${name} has the shell carry out something later.`);
    case 'history':
      return has(args, 'cwad')
        ? high('It changes the history of commands.')
        : medium('It shows former commands.');
    case 'printenv': {
      const secret = args.find(({ text }) => SECRET_NAME.test(text));
      if (secret) return high(`It hands out the variable ${secret.text}.`);
      return args.length === 0 ? medium('It shows all variables.') : LOW;
    }
    case 'rg':
      return valuesOf(args, '', '--pre').length > 0 ? startsAnother(name) : null;
    case 'jq':
    case 'yq': {
      const shown = args.find(({ text }) => /\$ENV\b|\benv\b/.test(text));
      if (!shown) return null;
      return SECRET_NAME.test(shown.text)
        ? high('It hands out a variable that is named like a secret.')
        : medium('It shows all variables.');
    }
    case 'go':
      return args.some(({ text }) => text.includes('@')) ? medium('It fetches a program.') : null;
    case 'hash':
      return has(args, 'p') ? medium('It changes where programs are found.') : LOW;
    case 'jobs':
      return has(args, 'x') ? call.command(operands(args)) : LOW;
    case 'export':
    case 'declare':
    case 'typeset':
    case 'readonly':
    case 'local':
      return args.length === 0 || has(args, 'p') ? medium('It shows all variables.') : LOW;
    case 'set':
      return args.length === 0 ? medium('It shows all variables.') : LOW;
    case 'unset':
    case 'read':
      return LOW;
    case 'mapfile':
    case 'readarray':
      return carriedOut(call, valuesOf(args, '-C'));
    case 'script':
      return worst([
        medium('It records what a shell does.'),
        carriedOut(call, valuesOf(args, '-c', '--command')),
      ]);
    case 'make':
    case 'gmake':
      return args.some(({ text }) => /^(SHELL[:+?]*=|--eval\b|-E)/.test(text)) ||
        valuesOf(args, '-f', '--file', '--makefile').some(({ text }) =>
          /^(-|\/dev\/.*|\/proc\/.*)$/.test(text),
        )
        ? high('It is given commands that stand in no file.')
        : null;
    case 'openssl':
      return operands(args)[0]?.text === 's_client'
        ? high('openssl connects to another machine.')
        : medium('It handles keys or certificates.');
    case 'less':
    case 'more':
    case 'man':
      return has(args, 'PH', '--pager', '--html') || args.some(({ text }) => /^\+.*!/.test(text))
        ? startsAnother(name)
        : LOW;
    case 'zip':
      return has(args, '', '-TT', '--unzip-command') ? startsAnother(name) : null;
    case 'npx':
    case 'pnpx':
    case 'bunx':
    case 'uvx': {
      const calls = carriedOut(call, valuesOf(args, '-c', '--call'));
      const rest = args.slice(
        Math.max(
          0,
          args.findIndex(({ text }) => !text.startsWith('-')),
        ),
      );
      return worst([medium(`${name} fetches a program and starts it.`), calls, call.command(rest)]);
    }
    case 'awk':
    case 'gawk':
    case 'mawk':
      return /\bsystem\s*\(|\|\s*getline|\|\s*"|\|&|\/inet\//.test(args.map(({ text }) => text).join(' '))
        ? high('Its program starts others.')
        : null;
    case 'tar':
      return has(
        args,
        'I',
        '--checkpoint-action',
        '--to-command',
        '--use-compress-program',
        '--rsh-command',
        '--info-script',
      )
        ? high('It has tar start another program.')
        : worst([
            medium('It packs or unpacks files.'),
            ...valuesOf(args, '-C', '--directory').map(({ text }) =>
              call.command([
                { ...DIR, text: 'mkdir' },
                { ...DIR, text },
              ]),
            ),
          ]);
    case 'vim':
    case 'vi':
    case 'ed':
    case 'emacs':
    case 'nano':
    case 'ex':
    case 'view':
    case 'nvim':
      return args.some(({ text }) => /!|system\(|shell|:py|:lua|call-process/.test(text)) || call.piped
        ? startsAnother(name)
        : medium(`${name} needs a terminal.`);
    default:
      return null;
  }
}

function startsAnother(name: string): Rating {
  return high(`It has ${name} start another program.`);
}

function carriedOut(call: Call, scripts: readonly Token[]): Rating {
  return worst(
    scripts.map(({ text, known }) =>
      known ? call.script(text) : high('What it has the shell carry out shows only when it runs.'),
    ),
  );
}

const DIR = { known: true, plain: true, substitutes: false, variables: [] };

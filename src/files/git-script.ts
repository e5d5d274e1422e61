import { START_REF } from '../runs/prepare/clone.ts';

/** What a script ends with when there is no repository. */
export const NO_REPOSITORY = 65;

/**
 * A program of our own in the sandbox, told by its arguments. It takes nothing of the agent's shell: not its
 * variables, functions or folder, and it leaves nothing there (`exec` ends the shell that would save its state).
 * What it writes to standard error is dropped.
 */
export function cleanCommand(script: string, args: readonly string[]): string {
  const env = [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'LC_ALL=C',
    'HOME=/nonexistent',
    'GIT_CONFIG_GLOBAL=/dev/null',
    'GIT_TERMINAL_PROMPT=0',
    'GIT_OPTIONAL_LOCKS=0',
    'GIT_NO_LAZY_FETCH=1',
    'GIT_LITERAL_PATHSPECS=1',
  ];
  const words = [
    'env',
    '-i',
    ...env,
    'bash',
    '--norc',
    '--noprofile',
    '-c',
    `${script}\n`,
    'parley',
    ...args,
  ];
  return `exec ${words.map(quote).join(' ')} 2>/dev/null`;
}

/**
 * Stands in the repository (argument 1 its folder, argument 2 one above which it is not looked for) with a copy of
 * its index that knows the untracked files too, and with `base`: where the conversation's branch began; else where it
 * left the remote's; else the empty tree. Nothing is written to the repository, and no hook or file system monitor of its
 * configuration is run. Its filters are, as a file of LFS is no change without: in the sandbox, like all of this.
 */
const STAND = `
export GIT_CEILING_DIRECTORIES=$2
cd -- "$1" && top=$(command git -c safe.directory='*' rev-parse --show-toplevel) && cd -- "$top" || exit ${NO_REPOSITORY}
git() {
  command git -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.splitIndex=false \\
    -c core.untrackedCache=false -c core.attributesFile=/dev/null -c core.pager=cat -c submodule.recurse=false "$@"
}
base=$(git rev-parse --quiet --verify '${START_REF}^{commit}') ||
  base=$(git merge-base HEAD refs/remotes/origin/HEAD) ||
  base=$(git hash-object -t tree /dev/null)
scratch=$(mktemp -d) || exit
trap 'rm -rf -- "$scratch"' EXIT
`;

const WITH_UNTRACKED = `
mkdir -- "$scratch/objects" || exit
cp -- "$(git rev-parse --git-path index)" "$scratch/index"
objects=$(cd -- "$(git rev-parse --git-path objects)" && pwd) || exit
export GIT_INDEX_FILE=$scratch/index GIT_OBJECT_DIRECTORY=$scratch/objects GIT_ALTERNATE_OBJECT_DIRECTORIES=$objects
git add --intent-to-add --ignore-errors -- .
`;

/** Options that make a diff the same whatever the repository configures, and run none of its programs. */
const PLAIN =
  '--no-ext-diff --no-textconv --no-color --ignore-submodules=dirty --submodule=short --no-relative';

/** Everything since the base, as `git apply` takes it: committed or not, files that git does not know yet included. */
export const PATCH = `${STAND}${WITH_UNTRACKED}
git diff --binary ${PLAIN} --find-renames --unified=3 --src-prefix=a/ --dst-prefix=b/ -O/dev/null "$base" --
`;

/** The same as pairs of a status letter and a path, each ended by NUL; a renamed file is one gone and one new. */
export const CHANGES = `${STAND}${WITH_UNTRACKED}
git diff --name-status -z ${PLAIN} --no-renames "$base" --
`;

/** Argument 3: a path in the repository. The file as it was at the base; nothing where it was not there. */
export const ORIGINAL = `${STAND}
git cat-file -e "$base:$3" || exit 0
git cat-file blob "$base:$3"
`;

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

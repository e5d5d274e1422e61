/** Tells our hook from one that was there before. */
const MARK = 'This hook was installed by Parley';

const HOOK = [
  '#!/bin/bash',
  `# ${MARK}`,
  '# It calls the hook that was there before, then the script in the .openhands directory.',
  'local_hook=$(dirname -- "$0")/pre-commit.local',
  'if [ -x "$local_hook" ]; then "$local_hook" "$@" || exit; fi',
  'if [ -f .openhands/pre-commit.sh ]; then exec bash .openhands/pre-commit.sh "$@"; fi',
];

/**
 * Makes the repository's `.openhands/pre-commit.sh` its git hook, for commits by the agent and by tools alike. A hook
 * that is there already is kept beside it and called first. In a subshell, which leaves the agent's own as it is.
 */
export const INSTALL_PRE_COMMIT = `(
  hook=$(git rev-parse --git-dir)/hooks/pre-commit && mkdir -p -- "\${hook%/*}" || exit
  if [ -e "$hook" ] && ! grep -qF '${MARK}' "$hook"; then
    mv -- "$hook" "$hook.local" && chmod +x -- "$hook.local" || exit
  fi
  cat >"$hook" <<'END_OF_HOOK' && chmod +x -- "$hook"
${HOOK.join('\n')}
END_OF_HOOK
)`;

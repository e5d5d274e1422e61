# Runs inside the sandbox, as git must never run over a workspace outside of it. $1: the workspace. Of each repository
# below it, a bundle of the commits that no branch of a remote has (stashes too), and a patch of what is not committed;
# of files in no repository, a bundle of one commit. Prints `SHA256 BYTES NAME` for each file made. What fails ends it.
set -euo pipefail
kept="$HOME/.parley-kept"
rm -rf -- "$kept"; mkdir -p -- "$kept"; cd -- "$1"
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=2
export GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=advice.addEmbeddedRepo GIT_CONFIG_VALUE_1=false
n=0
repositories=()
while IFS= read -r -d '' found; do repositories+=("$(dirname -- "$found")"); done < <(find . -name .git -prune -print0)
for repository in "${repositories[@]}"; do
  n=$((n + 1))
  git -C "$repository" rev-parse --git-dir >/dev/null
  commits=$(git -C "$repository" rev-list --count --all --not --remotes)
  if [ "$commits" -gt 0 ]; then
    git -C "$repository" bundle create --quiet "$kept/$n.bundle" --all --not --remotes
    git -C "$repository" bundle verify --quiet "$kept/$n.bundle"
  fi
  changes=$(git -C "$repository" status --porcelain | head -c 1 || true)
  if [ -n "$changes" ]; then
    head=$(git -C "$repository" rev-parse --quiet --verify HEAD || git -C "$repository" hash-object -w -t tree /dev/null)
    index=$(git -C "$repository" rev-parse --path-format=absolute --git-path index)
    [ ! -f "$index" ] || cp -- "$index" "$kept/index"
    GIT_INDEX_FILE="$kept/index" git -C "$repository" add --all
    GIT_INDEX_FILE="$kept/index" git -C "$repository" diff --cached --binary --no-ext-diff "$head" >"$kept/$n.patch"
    rm -f -- "$kept/index"
    [ -s "$kept/$n.patch" ] || rm -f -- "$kept/$n.patch"
  fi
done
if [ ! -e .git ]; then
  exclude=()
  for repository in "${repositories[@]}"; do exclude+=(":(exclude,literal)${repository#./}"); done
  git init --quiet --bare "$kept/loose.git"
  loose() { git --git-dir="$kept/loose.git" --work-tree=. -c core.bare=false "$@"; }
  loose add --all --force -- . "${exclude[@]}"
  if [ -n "$(loose ls-files | head -c 1 || true)" ]; then
    loose -c user.name=Parley -c user.email=parley@localhost commit --quiet --no-verify -m 'Files in no repository'
    loose bundle create --quiet "$kept/files.bundle" HEAD --all
  fi
  rm -rf -- "$kept/loose.git"
fi
cd -- "$kept"
for file in *.bundle *.patch; do
  [ -f "$file" ] || continue
  printf '%s %s %s\n' "$(sha256sum <"$file" | cut -d ' ' -f 1)" "$(stat -c %s -- "$file")" "$file"
done

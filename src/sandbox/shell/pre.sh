# Sourced by a fresh runner: gets ready, waits for its command, then brings back the state of the one before.
# Sets __parley_c (the command); __parley_{r,s,n,v,o,a} stay for save.sh. Defines no function and forks nothing after "warm".
__parley_r=$1 __parley_s=$2 __parley_n=$3
cd -- "$4" 2>/dev/null
set --
shopt -s expand_aliases
__parley_o=$BASHOPTS
# Every variable's name, without the fork that $(compgen -v) costs.
printf -v __parley_a '"${!%s@}" ' _ {a..z} {A..Z}
eval "__parley_l=($__parley_a)"
# What a shell starts with is not state: a secret that the service sets is thus not written down, and a new value wins.
declare -A __parley_v=()
for __parley_i in "${__parley_l[@]}"; do
  case $__parley_i in __parley_*) ;; *) __parley_v[$__parley_i]=${!__parley_i} ;; esac
done
printf 'warm %s %s\n' "$__parley_n" "$$" >&4
exec 4>&-

# First line: "-" or "i" (input lies in N.in), size of the command. Nothing at all: not needed any more.
# "p": a program beside the shell, up to a NUL; what follows is its input. It takes no state and leaves none.
IFS=' ' read -r __parley_i __parley_l || exit 0
if [[ $__parley_i == p ]]; then
  IFS= read -r -d '' __parley_c
  return 0
fi
if ((__parley_l > 4096)); then
  # read takes one byte at a time from a pipe.
  __parley_c=$(cat && printf x)
  __parley_c=${__parley_c%x}
else
  IFS= read -r -d '' __parley_c
fi
if [[ $__parley_i == i ]]; then exec <"$__parley_r/x/$__parley_n.in"; else exec </dev/null; fi
trap '__parley_rc=$?; [[ -v __parley_d ]] || . "$__parley_r/lib/save.sh"' EXIT
__parley_rc=0
[[ -f $__parley_s/shell ]] && . "$__parley_s/shell" 2>/dev/null
# Where the command stands when it is killed before it can say so itself.
builtin printf '%s' "$PWD" >|"$__parley_r/x/$__parley_n.at"
\builtin unset __parley_i __parley_l
return "$__parley_rc"

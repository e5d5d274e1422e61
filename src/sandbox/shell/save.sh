# Sourced, with its code in __parley_rc, after the command, or by the EXIT trap when the command left the shell: writes the state for the next one.
# Builtins only, and past the user's functions and aliases. N.cwd is written last: with it the state is complete.
__parley_d=1 __parley_b=$BASHOPTS
\builtin set +eux
\builtin shopt -u expand_aliases
builtin eval "__parley_l=($__parley_a)"
# Nor may functions make the state grow without bound: past 4 MiB the write fails, and the state before stays.
builtin trap '' XFSZ
builtin ulimit -S -f 4096
{
  builtin printf '__parley_rc=%d\n' "$__parley_rc"
  builtin umask -p
  # Before the functions, or a user's own cd() would run.
  builtin printf 'cd -- %q\nOLDPWD=%q\n' "$PWD" "$OLDPWD"
  [[ $__parley_b == *expand_aliases* ]] && builtin shopt -s expand_aliases
  [[ $__parley_b == "$__parley_o" ]] || builtin shopt -p
  __parley_t=0
  for __parley_i in "${__parley_l[@]}"; do
    case $__parley_i in
      __parley_* | BASH* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | LINENO | OLDPWD | OPTERR | OPTIND | \
        PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID | _) continue ;;
    esac
    builtin declare -n __parley_x=$__parley_i || continue
    __parley_y=
    # Whoever keeps a gigabyte in a variable would otherwise wait for it in every later command.
    if ((${#__parley_x} <= 65536 && ${#__parley_x[@]} <= 8192)); then
      __parley_y=${__parley_x[*]}x
      [[ -v __parley_v[$__parley_i] && ${__parley_v[$__parley_i]}x == "$__parley_y" ]] && __parley_y=
    fi
    builtin unset -n __parley_x
    [[ -n $__parley_y ]] && ((${#__parley_y} <= 65536 && __parley_t + ${#__parley_y} <= 1048576)) || continue
    ((__parley_t += ${#__parley_y}))
    builtin declare -p "$__parley_i"
  done
  for __parley_i in "${!__parley_v[@]}"; do
    [[ -v $__parley_i || $__parley_i == _ ]] || builtin printf 'unset -v %s\n' "$__parley_i"
  done
  builtin declare -f
  builtin declare -Fx
  builtin alias -p
  builtin printf '#\n'
} >|"$__parley_s/new.$__parley_n" 2>/dev/null && builtin printf '%s' "$PWD" >|"$__parley_r/x/$__parley_n.cwd"
builtin exit "$__parley_rc"

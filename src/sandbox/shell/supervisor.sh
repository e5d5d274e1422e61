# The one long-lived process of a sandbox's shell: prepares runners, signals them, answers that it lives.
# Lies in RUN/lib. First reads four lines: most processes or "", largest file in KiB or "", gateway socket or "",
# directory to start in. Then the protocol that protocol.md beside this file tells.
run=${0%/lib/*} state=$HOME/.parley
exec 3<&0 4>&1 </dev/null >/dev/null 2>&1
IFS= read -r -u 3 processes
IFS= read -r -u 3 file
IFS= read -r -u 3 gateway
IFS= read -r -u 3 workdir

# Job control: without it bash starts every "&" job with SIGINT ignored, and a child cannot undo that.
set -m
ulimit -c 0
[[ -z $processes ]] || ulimit -u "$processes"
[[ -z $file ]] || ulimit -f "$file"
# `pkill bash` by the agent should end its own commands, not the shell. A handler is reset in children; '' would stay.
trap : TERM INT HUP QUIT USR1 USR2 ALRM

# Gone, or replaced by a command: only a real directory will do. Another runner may be making it too, so none is removed.
make_state() {
  [[ -d $state && ! -L $state ]] && return
  [[ ! -e $state && ! -L $state ]] || rm -f -- "$state"
  mkdir -p -m 700 -- "$state"
}

# Without nodelay the end of a short answer waits 40 ms: for the acknowledgement of its head, which the reader delays.
if [[ -n $gateway ]]; then
  while :; do
    socat TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr,backlog=256,nodelay "UNIX-CONNECT:$gateway"
    sleep 0.2
  done 3<&- 4>&- &
fi
# Meanwhile the first runner is made.
{
  [[ -z $gateway ]] || until (: </dev/tcp/127.0.0.1/3128); do sleep 0.005; done
  printf 'ready\n' >&4
} 3<&- &

# Makes the FIFOs of runner $1, waits for its end, makes its state the shell's, writes the end mark with nonce $2.
# With $3 it is for a program beside the shell, whose errors have a FIFO of their own: what it says is a protocol.
prepare() {
  trap : TERM INT HUP QUIT USR1 USR2 ALRM
  exec 3<&-
  make_state
  mkfifo -m 600 -- "$run/x/$1.out" "$run/x/$1.go" ${3:+"$run/x/$1.err"} || { printf 'fail %s\n' "$1" >&4 && exit; }
  printf 'made %s\n' "$1" >&4
  exec 5>"$run/x/$1.out"
  if [[ -n $3 ]]; then exec 6>"$run/x/$1.err"; else exec 6>&5; fi
  setsid bash --norc --noprofile \
    -c '. "$1/lib/pre.sh"; eval "$__parley_c"; __parley_rc=$?; . "$__parley_r/lib/save.sh"' bash "$run" "$state" "$1" "$workdir" \
    <"$run/x/$1.go" >&5 2>&6 5>&- 6>&-
  local code=$? cwd= at=$run/x/$1.at
  exec 4>&- 6>&-
  [[ -f $run/x/$1.cwd ]] && mv -fT -- "$state/new.$1" "$state/shell" && at=$run/x/$1.cwd
  # 1000 characters are at most 4000 bytes: the mark stays below PIPE_BUF, so no other writer can split it.
  [[ -f $at ]] && IFS= read -r -d '' -n 1001 cwd <"$at"
  ((${#cwd} <= 1000)) || cwd=
  printf '\036%s %d %s\0' "$2" "$code" "$cwd" >&5
  exec 5>&-
  rm -f -- "$run/x/$1."* "$state/new.$1"
}

# Collects what stands below process $1 into `below`, so that children with a session of their own are reached too.
descend() {
  local task child children
  for task in "/proc/$1/task/"*; do
    children=
    read -r children <"$task/children"
    for child in $children; do
      below+=("$child")
      descend "$child"
    done
  done
}

declare -A below_of
# Builtins only from here on (but for the "&"): signals and answers must work when no process can be forked.
while :; do
  IFS=' ' read -r -u 3 op n arg || { (($? > 128)) && continue || break; }
  case $op in
    warm) # warm N NONCE
      prepare "$n" "$arg" &
      ;;
    prog) # prog N NONCE
      prepare "$n" "$arg" errors &
      ;;
    sig) # sig PID SIGNAL: the group, and what has left the group but still hangs below it
      below=()
      descend "$n"
      below_of[$n]+=" ${below[*]}"
      kill -s "$arg" -- "-$n"
      for pid in ${below_of[$n]}; do kill -s "$arg" "$pid"; done
      printf 'sig %s %s\n' "$n" "$arg" >&4
      ;;
    end) # end PID: it is over, forget what stood below it
      unset "below_of[$n]"
      ;;
    chk)
      printf 'chk\n' >&4
      ;;
  esac
done

# The service is gone. Inside namespaces our end is everyone's end; without them what is ours carries this variable.
if [[ -n $PARLEY_SANDBOX_MARK ]]; then
  set +m
  for round in 1 2 3 4 5; do
    found=
    for pid in $(grep -lzs -e "^PARLEY_SANDBOX_MARK=$PARLEY_SANDBOX_MARK\$" /proc/[0-9]*/environ); do
      pid=${pid#/proc/} pid=${pid%/environ}
      [[ $pid == "$$" ]] || { kill -KILL "$pid" && found=1; }
    done
    [[ -n $found ]] || break
  done
fi

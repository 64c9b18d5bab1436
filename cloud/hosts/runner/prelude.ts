import { LOGIN_FILES } from '../login-shell.js';

/**
 * The runner's basic functions: paths, time, processes. POSIX sh (dash on Ubuntu), with coreutils, util-linux and awk. Only
 * single-digit file descriptors: 9 is the lock of a run or module, 8 that of an epoch.
 */
export const PRELUDE = `
set -u
base=$HOME/.jobctl
say() { printf 'jobctl-runner: %s\\n' "$*"; }
errors=2
die() { printf 'jobctl-runner-error: %s\\n' "$*" >&$errors; exit 70; }
now_ms() { date +%s%3N; }
[ -d "$base/modules" ] || { mkdir -p -m 700 "$base" && mkdir -p "$base/runs" "$base/epochs" "$base/modules"; } || die "cannot make $base"

LOGIN_FILES='${LOGIN_FILES}'

# Field 22 of /proc/PID/stat. The process's name may hold spaces and brackets, so count from the last ') '.
start_time() {
  line=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- \${line##*) }
  [ $# -ge 20 ] && echo "\${20}"
}

# A container or an emulated VM shares the kernel's boot id but has an init of its own: its start time tells a reboot.
boot() { echo "$(cat /proc/sys/kernel/random/boot_id):$(start_time 1)"; }

# To the disk: the file, then the name that it gets in its folder.
place() { sync "$1" && mv -f "$1" "$2" && sync "$(dirname "$2")"; }

# Reads exactly $1 bytes of stdin into file $2; fails if there were fewer.
take() { head -c "$1" > "$2" && [ "$(wc -c < "$2")" -eq "$1" ]; }

# A run's second mark (docs/adr/0165): its limit of file locks, which the kernel does not apply and every process inherits. A digit,
# then ten that follow from the run's environment mark $1.
limit_of() { set -- $(printf %s "$1" | cksum); printf '%010d' "$1"; }
LIMIT='^Max file locks  *[1-9]'
# For bash: takes the limit $0, then becomes the program of the other arguments. A run inside another's has the next smaller digit, since
# a limit can only be lowered.
TAKE_LIMIT='ulimit -x "$(hard=$(ulimit -H -x)
case $hard in unlimited) echo 9 ;; [2-9]??????????) echo $((\${hard:0:1} - 1)) ;; *) echo no ;; esac)$0" 2> /dev/null
exec "$@"'
# Those of the login user whose limit is that of environment mark $1. Everybody may read a limit, and take one.
limited() {
  for each in $(grep -ls "$LIMIT$(limit_of "$1") " /proc/[0-9]*/limits); do
    each=\${each%/limits}
    [ "$(id -u)" != 0 ] && ! grep -qs "^Uid:.$(id -u)[^0-9]" "$each/status" || echo "\${each#/proc/}"
  done
}

# Processes that carry the environment mark $1, or that run's limit.
marked() {
  grep -lszFx -e "$1" /proc/[0-9]*/environ | tr -dc '0-9\\n'
  case $1 in JOBCTL_RUN_DIR=*) limited "$1" ;; esac
}

# Live processes that carry the mark $1, all of their sessions, and all descendants of these.
# A session of a marked process was made below it, so nobody else's process is in it; session 0 is outside of a namespace.
# With 'session' set, all of that session too.
# For a step of a module: $3 is the shell that forked it, in whose session are other steps' processes too, and $2 the mark of what
# was forked there. So the step's own are found by their process groups; what leads one in that session is the step's subshell.
members() {
  seeds=$(marked "$1")
  forked=
  [ $# -eq 1 ] || forked=$(marked "$2")
  [ -n "$seeds$forked\${session:-}" ] || return 0
  { echo "$seeds"; echo --; echo "$forked"; echo --; cat /proc/[0-9]*/stat 2>/dev/null; } | awk -v shell="\${3:--}" -v session_of_run="\${session:-}" '
    BEGIN { if (session_of_run != "") made[session_of_run] = 1 }
    $0 == "--" { below++; next }
    below < 2 { if (below == 0) mark[$1] = 1; else fork[$1] = 1; next }
    /^[0-9]+ \\(/ {
      pid = $1; sub(/^.*\\) /, ""); if ($1 == "Z" || $1 == "X") next
      parent[pid] = $2; group[pid] = $3; session[pid] = $4
    }
    function take(pid) {
      ours[pid] = 1; grown = 1
      if (session[pid] == shell) { if (group[pid] != shell) grouped[group[pid]] = 1 }
      else if (session[pid] != 0) made[session[pid]] = 1
    }
    END {
      for (pid in parent)
        if ((pid in mark) || (pid in fork) && session[pid] == shell && group[pid] == pid && pid != shell) take(pid)
      do {
        grown = 0
        for (pid in parent)
          if (!(pid in ours) && ((parent[pid] in ours) || (session[pid] in made) || (group[pid] in grouped))) take(pid)
      } while (grown)
      for (pid in ours) print pid
    }'
}

# Into file $1, whole or not at all, the line $2.
put_line() { printf '%s\\n' "$2" > "$1.$$" && mv -f "$1.$$" "$1"; }

# TERM to the processes that members names, by the same arguments; leaves them in 'pids'. The oldest first: a shell that waits for
# a child has to hear of the end before the child's end wakes it, or its trap never runs.
tell_to_end() {
  pids=$(members "$@" | sort -n)
  [ -z "$pids" ] || kill -TERM $pids 2>/dev/null
}

# TERM to every process of mark $1, up to $2 ms of grace, then KILL until none is left. Fails if some cannot be killed.
# For a step of a module, $3 and $4 as $2 and $3 of members.
end_members() {
  mark_of=$1 grace_ms=$2
  shift 2
  tell_to_end "$mark_of" "$@"
  [ -z "$pids" ] && return 0
  limit=$(($(now_ms) + grace_ms))
  while [ "$(now_ms)" -lt "$limit" ]; do
    [ -z "$(members "$mark_of" "$@")" ] && return 0
    sleep 0.05
  done
  limit=$(($(now_ms) + 20000))
  while pids=$(members "$mark_of" "$@"); [ -n "$pids" ]; do
    kill -KILL $pids 2>/dev/null
    [ "$(now_ms)" -lt "$limit" ] || return 1
    sleep 0.05
  done
}
`;

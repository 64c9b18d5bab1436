/**
 * The runner's own words: paths, time, processes. POSIX sh (dash on Ubuntu), with coreutils, util-linux and awk.
 * Single digit file descriptors only: 9 is a run's or module's lock, 8 an epoch's.
 */
export const PRELUDE = `
set -u
base=$HOME/.jobctl
say() { printf 'jobctl-runner: %s\\n' "$*"; }
errors=2
die() { printf 'jobctl-runner-error: %s\\n' "$*" >&$errors; exit 70; }
now_ms() { date +%s%3N; }
[ -d "$base/modules" ] || { mkdir -p -m 700 "$base" && mkdir -p "$base/runs" "$base/epochs" "$base/modules"; } || die "cannot make $base"

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

# Live processes that carry the environment mark $1, all of their sessions, and all descendants of these.
# A session of a marked process was made below it, so nobody else's process is in it; session 0 is outside of a namespace.
members() {
  marked=$(grep -lszFx -e "$1" /proc/[0-9]*/environ | tr -dc '0-9\\n')
  [ -n "$marked" ] || return 0
  { echo "$marked"; echo --; cat /proc/[0-9]*/stat 2>/dev/null; } | awk '
    !below && $0 == "--" { below = 1; next }
    !below { mark[$1] = 1; next }
    /^[0-9]+ \\(/ {
      pid = $1; sub(/^.*\\) /, ""); if ($1 == "Z" || $1 == "X") next
      parent[pid] = $2; session[pid] = $4
    }
    END {
      for (pid in parent) if (pid in mark) { ours[pid] = 1; if (session[pid] != 0) made[session[pid]] = 1 }
      do {
        grown = 0
        for (pid in parent) if (!(pid in ours) && ((parent[pid] in ours) || (session[pid] in made))) {
          ours[pid] = 1; grown = 1; if (session[pid] != 0) made[session[pid]] = 1
        }
      } while (grown)
      for (pid in ours) print pid
    }'
}

# TERM to every process of mark $1, up to $2 ms of grace, then KILL until none is left. Fails if some cannot be killed.
end_members() {
  pids=$(members "$1")
  [ -z "$pids" ] && return 0
  kill -TERM $pids 2>/dev/null
  limit=$(($(now_ms) + $2))
  while [ "$(now_ms)" -lt "$limit" ]; do
    [ -z "$(members "$1")" ] && return 0
    sleep 0.05
  done
  limit=$(($(now_ms) + 20000))
  while pids=$(members "$1"); [ -n "$pids" ]; do
    kill -KILL $pids 2>/dev/null
    [ "$(now_ms)" -lt "$limit" ] || return 1
    sleep 0.05
  done
}
`;
